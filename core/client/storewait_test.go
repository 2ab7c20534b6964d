package client

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// storedObjects are objects that the store has, and that this process does not look at.
func storedObjects(t *testing.T, d *fakeDaemon, c *Client, n int) (list []ids.Object) {
	t.Helper()
	for range n {
		id, err := c.Put(&Value{Bufs: [][]byte{make([]byte, MaxInline+1)}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	c.unpinUnused()
	d.eventually("nothing is pinned", func() bool { return d.pins == 0 })
	return list
}

// A place in a file is read from there; one that cannot be mapped is unpinned, and the answer says which object it was.
func TestPin_InAFile_IsMappedOrUnpinned(t *testing.T) {
	d := startDaemon(t)
	path := filepath.Join(t.TempDir(), "spilled")
	if err := os.WriteFile(path, []byte("....value"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := wire.ObjPlace{Path: path, Offset: 4, Size: 5}
	unpinned := map[ids.Object]bool{}
	d.answers(wire.TObjPin, func(m *wire.Message) bool { _ = m.Reply(at); return true })
	d.answers(wire.TObjUnpin, func(m *wire.Message) bool {
		var q wire.ObjRef
		_ = m.Decode(&q)
		unpinned[ids.Object(q.ObjectID)] = true
		return true
	})
	c := d.driver()
	here, gone := ids.NewObject(70, c.self, c.info.Job, 1), ids.NewObject(71, c.self, c.info.Job, 1)
	c.mu.Lock()
	v, err := c.pin(here, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if b, _, err := c.local.Open(v); err != nil || string(b) != "value" {
		t.Errorf("the file has %q, %v", b, err)
	}
	c.mu.Unlock()
	d.mu.Lock()
	at.Path += " that is not there"
	d.mu.Unlock()
	c.mu.Lock()
	_, err = c.pin(gone, time.Time{})
	if !errors.Is(err, os.ErrNotExist) || c.local.Has(gone) || c.local.Count().Pinnings != 0 {
		t.Errorf("%v", err)
	}
	c.mu.Unlock()
	d.eventually("it is unpinned", func() bool { return unpinned[gone] && !unpinned[here] })
}

// A store that says no is told on; it has pinned nothing that would have to be unpinned.
func TestPin_StoreRefuses_IsTold(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	unpinned := 0
	d.answers(wire.TObjUnpin, func(*wire.Message) bool { unpinned++; return false })
	id := ids.NewObject(70, c.self, c.info.Job, 1)
	c.mu.Lock()
	_, err := c.pin(id, time.Time{})
	c.mu.Unlock()
	if fault.CodeOf(err) != fault.ObjectLost {
		t.Errorf("%v", err)
	}
	if err := c.daemon.Call(t.Context(), wire.TObjStats, nil, nil); err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if unpinned != 0 {
		t.Error("what was not pinned is unpinned")
	}
}

// When all who waited have given up, the answer pins nothing.
func TestPin_NobodyWaitsAnyMore_IsUnpinned(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	id := storedObjects(t, d, c, 1)[0]
	d.mu.Lock()
	d.holdPins = 2 // the answer comes with the next one
	d.mu.Unlock()
	c.mu.Lock()
	if _, err := c.pin(id, time.Now().Add(-time.Second)); !errors.Is(err, localstore.ErrNoAnswer) || c.local.Count().Pinnings != 1 {
		t.Fatalf("%v", err)
	}
	c.mu.Unlock()
	d.mu.Lock()
	for _, l := range d.late {
		_ = l.m.Reply(l.at)
	}
	d.late, d.holdPins = nil, 0
	d.mu.Unlock()
	d.eventually("it is unpinned", func() bool { return d.asked == 1 && d.pins == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.local.Count().Pinnings != 0 || c.local.Has(id) {
		t.Error("it is looked at")
	}
}

// A call's stored arguments are all asked for before the first answer is waited for; what came with the call,
// what is looked at already and what is lost needs no question.
func TestPinArguments_AllStoredOnes_AreAskedForTogether(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list := storedObjects(t, d, c, 4)
	c.mu.Lock()
	defer c.mu.Unlock()
	known, err := c.pin(list[3], time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	d.asked, d.holdPins, d.late = 0, 3, nil // an answer comes when all three are asked for
	d.mu.Unlock()
	place := func(i int) frame.Place { return frame.Place{ID: list[i], Size: MaxInline} }
	k := &execute.Call{Args: place(0), Deps: []frame.Place{place(1), {Envelope: inlineText("x")}, place(2), place(3), {ID: ids.Object{9}}}}
	held := c.pinArguments(k)
	if len(held) != 3 || held[0].ID() != list[0] || held[1].ID() != list[1] || held[2].ID() != list[2] {
		t.Errorf("%d are held", len(held))
	}
	for _, v := range append(held, known) {
		if c.local.Unhold(v); c.local.Has(v.ID()) {
			t.Errorf("%s has more than one hold", v.ID())
		}
	}
	if one := c.pinArguments(&execute.Call{Args: place(0)}); one != nil {
		t.Error("a call without references asks twice for its arguments")
	}
}

// What the program does not look at goes when the room is needed; what it looks at stays.
func TestUnpinUnused_OnlyWhatNobodyLooksAt(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list := storedObjects(t, d, c, 2)
	seen, err := c.Get(list[0], testLimit)
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Get(list[1], testLimit)
	if err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{View: other.View})
	c.unpinUnused()
	c.mu.Lock()
	if a, b := c.table.Find(list[0]), c.table.Find(list[1]); a.Copy() == nil || b.Copy() != nil || c.local.Has(list[1]) {
		t.Errorf("the one that is looked at: %v, the other: %v", a.Copy(), b.Copy())
	}
	c.mu.Unlock()
	d.eventually("one is pinned", func() bool { return d.pins == 1 })
	if _, err := store.Parse(seen.Envelope); err != nil {
		t.Error(err)
	}
	c.Release(Drop{View: seen.View})
}
