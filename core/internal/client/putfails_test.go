package client

import (
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A put that waits for room ends when a signal's handler has raised, the request
// is taken back, and nothing of the object is left.
func TestPut_SignalWhileTheStoreIsFull_IsTakenBack(t *testing.T) {
	d := startDaemon(t)
	looks := 0
	c, err := Connect(Options{Socket: d.sock(), Role: wire.RoleDriver, Background: lend, Signals: func() bool { looks++; return looks == 2 }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(0) })
	inner := putBytes(t, c, 10, 1)
	d.mu.Lock()
	d.full = true
	d.mu.Unlock()
	c.mu.Lock()
	id := ids.NewObject(c.table.Peek(), c.self, c.info.Job, 0)
	c.mu.Unlock()
	got, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, MaxInline+1)}, Nested: []ids.Object{inner}})
	if got != (ids.Object{}) || fault.CodeOf(err) != fault.Interrupted || looks != 2 {
		t.Errorf("%s, %v, after %d looks", got, err, looks)
	}
	d.eventually("the request is taken back", func() bool { return d.freed[string(id[:])] })
	letGo(t, c, inner)
}

// A put that the store refuses leaves nothing, and one of a session that has ended says so.
func TestPut_Refused_NothingIsLeft(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	inner := putBytes(t, c, 10, 1)
	d.answers(wire.TObjCreate, func(m *wire.Message) bool { return m.Fail(fault.New(fault.StoreFull, "no room for it")) == nil })
	for _, size := range []int{MaxInline + 1, localstore.ReuseFrom} {
		got, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, size)}, Nested: []ids.Object{inner}})
		if got != (ids.Object{}) || fault.CodeOf(err) != fault.StoreFull {
			t.Errorf("%d bytes: %s, %v", size, got, err)
		}
	}
	letGo(t, c, inner)
	c.Close(0)
	for _, size := range []int{1, MaxInline + 1} {
		if got, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, size)}}); got != (ids.Object{}) || err == nil || err.Error() != c.Err().Error() {
			t.Errorf("after the end %d bytes: %s, %v", size, got, err)
		}
	}
}

// A store that gives less room than was asked for is not written to.
func TestPut_StoreGivesTooLittle_IsAnError(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	d.answers(wire.TObjCreate, func(m *wire.Message) bool {
		var o wire.ObjCreate
		_ = m.Decode(&o)
		return m.Reply(wire.ObjPlace{Size: o.Size - 1}) == nil
	})
	if _, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{make([]byte, MaxInline+1)}}); err == nil || !strings.Contains(err.Error(), "the store gave") {
		t.Errorf("%v", err)
	}
	if owned, _ := c.Holds(); owned != 0 {
		t.Errorf("%d objects are left", owned)
	}
}

// A value goes in a message as long as it has at most so many bytes, and through the store when it has one more.
func TestPut_AtTheBound_InAMessageOrInTheStore(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	v := Value{Fmt: FmtPickle, Meta: make([]byte, MaxInline-100)}
	total := v.Size()
	v.Meta = make([]byte, MaxInline-100+MaxInline-total)
	for extra, want := range map[int]bool{0: false, 1: true} {
		x := Value{Fmt: FmtPickle, Meta: make([]byte, len(v.Meta)+extra)}
		if n := x.Size(); n != MaxInline+extra {
			t.Fatalf("a value of %d bytes, want %d", n, MaxInline+extra)
		}
		id, err := c.Put(&x)
		if err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		if _, there := d.objects[string(id[:])]; there != want {
			t.Errorf("%d bytes: in the store: %v, want %v", MaxInline+extra, there, want)
		}
		d.mu.Unlock()
		letGo(t, c, id)
	}
}
