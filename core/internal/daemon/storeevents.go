package daemon

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// storeEvents passes what the object store tells about objects on to processes. It implements
// objects.Notify; mu is held.
type storeEvents struct{ d *Daemon }

// LetGo asks a process to unpin the objects that it keeps only for quick use later. Whoever is no process holds objects
// of other nodes, and lets go by itself.
func (storeEvents) LetGo(h objects.Holder) {
	if c, ok := h.(*client); ok {
		_ = c.peer.Push(wire.TObjLetGo, nil)
	}
}

// Freed tells a process that the owner of an object has freed it.
func (storeEvents) Freed(h objects.Holder, id ids.Object) {
	if c, ok := h.(*client); ok {
		_ = c.peer.Push(wire.TObjFreed, wire.ObjRefs{ObjectIDs: [][]byte{append([]byte(nil), id[:]...)}})
	}
}

// Lost passes on that the store lacks an object that nobody has freed.
func (e storeEvents) Lost(id ids.Object) { e.d.pulls.Lost(id) }

// MayDrop asks other nodes whether replicas may be dropped.
func (e storeEvents) MayDrop(list []ids.Object, answer func([]bool) []ids.Object) {
	e.d.pulls.MayDrop(list, answer)
}

// Warn logs a text about a process and shows it to the driver of the process's job, among the
// output of the job's workers.
func (e storeEvents) Warn(h objects.Holder, text string) {
	c, ok := h.(*client)
	if !ok {
		e.d.log.Warn(text, "for", "an object of another node")
		return
	}
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
