package daemon

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/objects"
	"github.com/eagleray/eagleray/core/wire"
)

// storeEvents implements objects.Notify; mu is held.
type storeEvents struct{ d *Daemon }

func (storeEvents) LetGo(h objects.Holder) { _ = h.(*client).peer.Push(wire.TObjLetGo, nil) }

func (storeEvents) Freed(h objects.Holder, id ids.Object) {
	_ = h.(*client).peer.Push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{append([]byte(nil), id[:]...)}})
}

// Warn shows the text to the driver of the process's job, among the output of its
// workers.
func (e storeEvents) Warn(h objects.Holder, text string) {
	c := h.(*client)
	e.d.log.Warn(text, "pid", c.pid)
	j := c.job
	if j == nil {
		return
	}
	lines := []wire.LogLine{{Pid: c.pid, Stderr: true, Source: "daemon", Text: text}}
	if j.Sink != nil {
		j.Sink.Add(lines)
	} else if j.driver != nil { // The driver does not want to see its workers' output; this is not output.
		_ = j.driver.peer.Push(wire.TLogs, wire.LogBatch{Lines: lines})
	}
}
