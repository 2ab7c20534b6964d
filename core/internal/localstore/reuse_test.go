package localstore

import (
	"errors"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// put makes a large object as put does, and says whether it has the place of an earlier one.
func (n *node) put(size int) (o *refs.Object, reused bool) {
	n.t.Helper()
	o = n.table.New(0, 1)
	at, reused, keep := n.s.Put(o.ID, size)
	if !reused {
		at = place(o.ID.Count())
		at.Size = uint64(size)
	}
	if err := n.s.Write(o.ID, at, Value{}, keep); err != nil {
		n.t.Fatal(err)
	}
	if keep {
		n.s.Written(o.ID, at, size)
	}
	n.table.PutStored(o, uint64(size), false)
	return o, reused
}

// A put after a put that was let go of takes its place, whether or not the value was looked at.
func TestPut_AfterOneThatIsGone_TakesItsPlace(t *testing.T) {
	n := newNode(t, false)
	for i := range 20 {
		o, reused := n.put(ReuseFrom + 1000)
		if reused != (i > 0) {
			t.Fatalf("put %d: reused %v", i, reused)
		}
		if i%2 == 0 {
			v, _ := n.s.Pin(o.ID)
			n.s.KeepFor(o, v)
			if _, _, err := n.s.Open(v); err != nil {
				t.Fatal(err)
			}
			n.s.Drop(v.n)
		}
		if !n.letGo(o) || n.pinCount() != 1 || len(n.freed) != 0 {
			t.Fatalf("put %d: %d pins, %d freed", i, n.pinCount(), len(n.freed))
		}
	}
	n.passes(spareFor - 1)
	if n.pinCount() != 1 {
		t.Error("the range goes before its time")
	}
	n.passes(1)
	if n.pinCount() != 0 || len(n.freed) != 1 || n.s.Count() != (Counts{}) {
		t.Errorf("%d pins, %d freed, %+v", n.pinCount(), len(n.freed), n.s.Count())
	}
	if o, reused := n.put(ReuseFrom); reused || !n.letGo(o) {
		t.Errorf("reused %v", reused)
	}
	if n.passes(spareFor); n.pinCount() != 0 {
		t.Error("the timer is not set again")
	}
}

// A put that does not fit, and one that would waste too much, give the range back.
func TestPut_OfAnotherSize_RangeIsGivenBack(t *testing.T) {
	const size = 4 << 20
	for next, fits := range map[int]bool{size: true, size + 1: false, size - size/reuseMost: true, size - size/reuseMost - 1: false} {
		n := newNode(t, false)
		o, _ := n.put(size)
		n.letGo(o)
		if _, reused := n.put(next); reused != fits || n.pinCount() != 1 {
			t.Errorf("%d bytes after %d: reused %v, %d pins", next, size, reused, n.pinCount())
		}
		if !fits {
			expectIDs(t, "freed", n.freed, []ids.Object{o.ID})
		}
	}
	n := newNode(t, false)
	if _, _, keep := n.s.Put(foreign(1), ReuseFrom-1); keep {
		t.Error("a small object is kept")
	}
}

// What others may have keeps its place: other processes, the program's arrays, and what the owner freed.
func TestKeepRange_OthersMayHaveTheObject_RangeIsNotKept(t *testing.T) {
	for what, x := range map[string]struct {
		change func(n *node, o *refs.Object)
		kept   bool
	}{
		"nobody has it":              {func(*node, *refs.Object) {}, true},
		"another process has its id": {func(_ *node, o *refs.Object) { o.MarkShared() }, false},
		"the program looks at it": {func(n *node, o *refs.Object) {
			v, _ := n.s.Pin(o.ID)
			n.s.KeepFor(o, v)
			_, _, _ = n.s.Open(v)
		}, false},
		"another one was written since": {func(n *node, _ *refs.Object) { n.put(ReuseFrom) }, false},
		"the room was needed":           {func(n *node, _ *refs.Object) { n.s.UnpinUnused() }, false},
		"it failed meanwhile":           {func(n *node, o *refs.Object) { n.s.ValueFreed(o.ID); n.table.Forget(o) }, false},
		"the session has ended":         {func(n *node, _ *refs.Object) { n.s.End(errors.New("end")) }, false},
	} {
		n := newNode(t, false)
		o, _ := n.put(ReuseFrom)
		x.change(n, o)
		if kept := n.letGo(o); kept != x.kept {
			t.Errorf("%s: kept %v", what, kept)
		}
		if n.s.UnpinUnused(); n.pinCount() > 1 || n.pinCount() == 1 && what != "the program looks at it" {
			t.Errorf("%s: %d pins are left", what, n.pinCount())
		}
	}
}

// The daemon hears that the object is free before it hears that nobody looks at it: it must not spill it.
func TestDropSpare_FreedBeforeItIsUnpinned(t *testing.T) {
	n := newNode(t, false)
	o, _ := n.put(ReuseFrom)
	n.letGo(o)
	order := &orderedNode{node: n}
	n.s.daemon = order
	n.s.UnpinUnused()
	if len(order.calls) != 2 || order.calls[0] != "free" || order.calls[1] != "unpin" {
		t.Errorf("%v", order.calls)
	}
}

// orderedNode notes the order of Free and Unpin.
type orderedNode struct {
	*node
	calls []string
}

func (n *orderedNode) Free(list [][]byte)  { n.calls = append(n.calls, "free"); n.node.Free(list) }
func (n *orderedNode) Unpin(id ids.Object) { n.calls = append(n.calls, "unpin"); n.node.Unpin(id) }

// Of what put has written only the latest stays pinned, and that not for ever.
func TestWritten_OnlyTheLatestStaysPinned(t *testing.T) {
	n := newNode(t, false)
	a, _ := n.put(ReuseFrom)
	if n.s.Put(foreign(1), ReuseFrom); n.pinCount() != 0 {
		t.Error("what was written last stays pinned while the next object needs room")
	}
	b, _ := n.put(ReuseFrom)
	if n.s.Has(a.ID) || !n.s.Has(b.ID) || n.pinCount() != 1 {
		t.Errorf("%+v", n.s.Count())
	}
	n.passes(2 * time.Second)
	if n.pinCount() != 0 || n.letGo(b) {
		t.Errorf("%d pins after two seconds", n.pinCount())
	}
}
