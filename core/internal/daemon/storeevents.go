package daemon

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// storeEvents passes what the object store tells about objects on to processes. It implements
// objects.Notify; mu is held.
type storeEvents struct{ d *Daemon }

// LetGo asks a process to unpin the objects that it keeps only for quick use later.
func (storeEvents) LetGo(h objects.Holder) { _ = h.(*client).peer.Push(wire.TObjLetGo, nil) }

// Freed tells a process that the owner of an object has freed it.
func (storeEvents) Freed(h objects.Holder, id ids.Object) {
	_ = h.(*client).peer.Push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{append([]byte(nil), id[:]...)}})
}

// Warn logs a text about a process and shows it to the driver of the process's job, among the
// output of the job's workers.
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
	} else if j.driver != nil { // the driver does not want its workers' output, but this is a warning
		_ = j.driver.peer.Push(wire.TLogs, wire.LogBatch{Lines: lines})
	}
}
