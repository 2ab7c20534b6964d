package client

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// keepsLong is a worker that keeps the ranges of its objects long enough for any machine.
func (d *fakeDaemon) keepsLong(t *testing.T) *member {
	t.Helper()
	m := d.member(t, wire.RoleWorker)
	m.c.mu.Lock()
	m.c.local.SetTimes(localstore.Times{Idle: time.Hour, Spare: time.Hour})
	m.c.mu.Unlock()
	return m
}

// A process that has moved puts nothing any more, so the store gets back the memory of a large object that it has
// written: of one that was let go of before, whose range waits for the next put, and of one that is let go of while the process stops.
func TestStopAndCapture_LargeObjectIsLetGoOf_ItsMemoryIsFreed(t *testing.T) {
	for what, letGo := range map[string]func(m *member, id ids.Object){
		"before": func(m *member, id ids.Object) {
			m.c.table.Unref(m.c.table.Find(id), 1)
			m.c.table.CarryOut()
		},
		"while the process stops": func(m *member, id ids.Object) {
			m.c.table.Unref(m.c.table.Find(id), 1)
		},
		"while the process stops, and others had it": func(m *member, id ids.Object) {
			o := m.c.table.Find(id)
			m.c.table.Pin(o)
			m.c.table.Unref(o, 1)
			m.c.table.Unpin(o)
		},
	} {
		d := startDaemon(t)
		owner := d.keepsLong(t)
		c := owner.c
		c.mu.Lock()
		c.prepareMove()
		c.mu.Unlock()
		id := putBytes(t, c, localstore.ReuseFrom+1000, 1) // by a thread of the program that still runs
		d.eventually("the object is pinned", func() bool { return d.pins == 1 })
		c.mu.Lock()
		letGo(owner, id)
		c.stopAndCapture()
		if n := c.local.Count(); n != (localstore.Counts{}) {
			t.Errorf("let go of %s: a process that has moved keeps %+v", what, n)
		}
		c.mu.Unlock()
		d.eventually("its memory is free", func() bool { return d.freed[string(id[:])] && d.pins == 0 })
		if _, err := c.Put(&envelope.Value{Bufs: [][]byte{make([]byte, localstore.ReuseFrom)}}); err == nil {
			t.Error("a process that has moved puts an object")
		}
		owner.vanish()
	}
}

// An object that its owner holds for others stays in the store when the owner moves. The owner's process does not keep it pinned.
func TestStopAndCapture_LargeObjectIsNeeded_ItIsUnpinnedAndNotFreed(t *testing.T) {
	d := startDaemon(t)
	owner := d.keepsLong(t)
	c := owner.c
	id := putBytes(t, c, localstore.ReuseFrom+1000, 1)
	c.mu.Lock()
	c.table.Pin(c.table.Find(id))
	c.prepareMove()
	w, _ := c.stopAndCapture()
	c.mu.Unlock()
	d.eventually("it is unpinned", func() bool { return d.pins == 0 })
	if len(w.Refs.Objects) != 1 || ids.Object(w.Refs.Objects[0].ID) != id || w.Refs.Objects[0].State != refs.Stored {
		t.Errorf("the snapshot has the objects %+v", w.Refs.Objects)
	}
	d.mu.Lock()
	if d.freed[string(id[:])] {
		t.Error("the object is freed")
	}
	d.mu.Unlock()
	owner.vanish()
}

// The place of an object that comes when the process has moved is unpinned, and is not opened: nobody looks at it.
func TestStopAndCapture_PlaceComesLate_IsUnpinned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spilled")
	if err := os.WriteFile(path, []byte("value"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, at := range map[string]wire.ObjPlace{
		"in the arena": {Offset: 0, Size: 5},
		"in a file":    {Path: path, Size: 5},
	} {
		d := startDaemon(t)
		var question *wire.Message
		unpinned := map[ids.Object]int{}
		d.answers(wire.TObjPin, func(m *wire.Message) bool { question = m; return true })
		d.answers(wire.TObjUnpin, func(m *wire.Message) bool {
			var q wire.ObjRef
			_ = m.Decode(&q)
			unpinned[ids.Object(q.ObjectID)]++
			return true
		})
		owner := d.member(t, wire.RoleWorker)
		c := owner.c
		id := ids.NewObject(70, c.self, c.info.Job, 1)
		c.mu.Lock()
		asked := c.local.Ask(id)
		c.mu.Unlock()
		d.eventually("the place is asked for", func() bool { return question != nil })
		c.mu.Lock()
		c.stopAndCapture()
		c.mu.Unlock()
		d.mu.Lock()
		err := question.Reply(at)
		d.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		<-asked.Done()
		c.mu.Lock()
		if view, err := c.local.Take(asked); view != nil || err == nil {
			t.Errorf("%s: a process that has moved gets %v, %v", what, view, err)
		}
		if n := c.local.Count(); n != (localstore.Counts{}) {
			t.Errorf("%s: a process that has moved keeps %+v", what, n)
		}
		c.mu.Unlock()
		d.eventually("the object is unpinned: "+what, func() bool { return unpinned[id] == 1 })
		owner.vanish()
	}
}
