package generators

import (
	"errors"
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

func TestTake_ItemsComeAndTheRunEnds_EachIsGivenOnceInOrder(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	if _, id, st, err := x.Take(own.ID); st != Waits || err != nil || id != (ids.Object{}) {
		t.Errorf("before the first item: state %d, object %s, %v", st, id, err)
	}
	yields(x, objects, g, 2)
	head, waits, err := x.Next(own.ID)
	if err != nil || waits || head != x.item(g, 0) {
		t.Errorf("the next item is %v, not there: %v, %v", head, waits, err)
	}
	if a, b := take(t, x, objects, own), take(t, x, objects, own); a != 0 || b != 1 {
		t.Errorf("items %d and %d are given, want 0 and 1", a, b)
	}
	head, waits, err = x.Next(own.ID)
	if err != nil || !waits || head != x.item(g, g.got) || head.Pins() != 1 {
		t.Fatalf("the next item is %v, not there: %v, %v", head, waits, err)
	}
	if free := x.Ended(g, "g", stream, false); free != nil {
		t.Errorf("a run that ended well has the store free %v", free)
	}
	if codeOf(head) != fault.EndOfStream || head.Pins() != 0 || g.Task() != nil || x.Yielding(x.item(g, 0)) != nil {
		t.Errorf("who waits for the item behind the last one gets %v with %d pins, and the run has the task %v", codeOf(head), head.Pins(), g.Task())
	}
	objects.Complete(own, refs.Inline, nil, 0, false)
	for range 2 {
		if _, _, st, err := x.Take(own.ID); st != End || err != nil {
			t.Errorf("after the end: state %d, %v", st, err)
		}
	}
	if x.Leave(own.ID.Count()) != g || x.Leave(own.ID.Count()) != nil || x.Len() != 0 {
		t.Error("the program can leave it twice, or it is still read")
	}
}

func TestTake_TheRunFailed_ItsOwnObjectIsGivenOnce(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	objects.Infeasible(own, fault.New(fault.TaskUnschedulable, "no node"))
	if _, id, st, _ := x.Take(own.ID); st != Failed || id != own.ID {
		t.Errorf("while no node can run it: state %d, object %s", st, id)
	}
	if _, _, st, _ := x.Take(own.ID); st != Waits { // it may still run
		t.Errorf("the program is told a second time that no node can run it: state %d", st)
	}
	objects.Fail(own, fault.New(fault.TaskCancelled, "cancelled"))
	x.Ended(g, "g", stream, false)
	for i, want := range []State{Failed, End} {
		if _, id, st, _ := x.Take(own.ID); st != want || (id == own.ID) != (want == Failed) {
			t.Errorf("time %d after it failed: state %d, object %s, want state %d", i, st, id, want)
		}
	}
	if own.Local() != 3 {
		t.Errorf("the program has %d references to it, want 3", own.Local())
	}
}

func TestState_NotAGeneratorOfTheProgram_IsRefused(t *testing.T) {
	x, objects := newTable()
	_, own := called(x, objects, stream)
	_, list := called(x, objects, frame.FlowDynamic)
	other := ids.NewObject(own.ID.Count(), ids.Owner{9}, ids.JobOf(1), 1)
	for what, id := range map[string]ids.Object{"a list of items": list.ID, "another process's": other, "no object": ids.NewObject(1<<50, x.self, x.job, 1)} {
		if _, err := x.State(id); fault.CodeOf(err) != fault.BadRequest {
			t.Errorf("%s: %v", what, err)
		}
	}
	why := errors.New("it is over")
	x.End(why)
	if _, err := x.State(own.ID); !errors.Is(err, why) {
		t.Errorf("after the end of the session: %v", err)
	}
}

// An item comes in its turn. A run for lost items sends again what has come, and a run that nobody
// reads need not have sent what came before its exception.
func TestTakes_EachPlace(t *testing.T) {
	for _, c := range []struct {
		left, again bool
		i           uint64
		item, last  bool
	}{
		{i: 1}, {i: 2, item: true, last: true}, {i: 3},
		{left: true, i: 1}, {left: true, i: 5, last: true},
		{left: true, again: true, i: 0, item: true, last: true}, {left: true, again: true, i: 2, item: true, last: true},
		{left: true, again: true, i: 3, last: true},
		{left: true, again: true, i: MaxItems - 2}, {left: true, i: MaxItems - 2}, {left: true, i: MaxItems - 3, last: true},
	} {
		g := &Generator{got: 2, left: c.left, again: c.again}
		if g.Takes(c.i) != c.item || g.TakesLast(c.i) != c.last {
			t.Errorf("%+v: it takes the item: %v, the exception: %v", c, g.Takes(c.i), g.TakesLast(c.i))
		}
	}
}

func TestTaken_WhatTheWorkerHears(t *testing.T) {
	for _, c := range []struct {
		flow          frame.Flow
		left, now     bool
		n             uint64
		counted, soon bool
	}{
		{flow: frame.Flow{}},
		{flow: frame.Flow{Counted: true}, n: 3, counted: true, soon: true},
		{flow: frame.Flow{Limit: 3}, n: 3, counted: true, soon: true}, // 2 more have come: the worker has reached the limit
		{flow: frame.Flow{Limit: 4}, n: 3, counted: true},
		{flow: frame.Flow{Limit: 4}, now: true, n: 3, counted: true, soon: true},
		{flow: frame.Flow{Limit: 4}, left: true, n: frame.All, counted: true},
	} {
		g := &Generator{got: 5, taken: 3, left: c.left}
		if n, counted, soon := g.Taken(&c.flow, c.now); n != c.n || counted != c.counted || soon != c.soon {
			t.Errorf("%+v: %d items, it counts: %v, at once: %v", c, n, counted, soon)
		}
	}
}

// Who reads a generator no more frees what was not taken. It is closed when nobody has its own object either,
// unless it was called for what it does, or for its list.
func TestOwnGone_EachWayToLeave(t *testing.T) {
	for _, c := range []struct {
		what   string
		mode   int
		items  int
		leave  bool
		ended  bool
		wanted bool // it is not closed
	}{
		{"it was read", frame.FlowStream, 3, true, false, false},
		{"no item has come", frame.FlowStream, 0, true, false, true},
		{"no item has come, and it is not left", frame.FlowStream, 0, false, false, false},
		{"its reader ends with its own object", frame.FlowStream, 3, false, false, false},
		{"a list", frame.FlowDynamic, 3, false, false, true},
		{"it has ended", frame.FlowStream, 3, false, true, true},
	} {
		x, objects := newTable()
		g, own := called(x, objects, c.mode)
		yields(x, objects, g, c.items)
		if c.ended {
			x.Ended(g, "g", c.mode, false)
		}
		if c.leave {
			x.Leave(own.ID.Count())
		}
		if quit := x.OwnGone(g, own, c.mode); quit == c.wanted {
			t.Errorf("%s: the worker closes it: %v", c.what, quit)
		}
		objects.CarryOut()
		if r := x.Resume(g); r.Quit == c.wanted || r.Have != uint64(c.items) {
			t.Errorf("%s: the next attempt goes on with %+v", c.what, r)
		}
		for i := range c.items {
			if gone := x.item(g, uint64(i)) == nil; gone == c.ended {
				t.Errorf("%s: item %d is gone: %v", c.what, i, gone)
			}
		}
		if c.items > 0 && !c.ended {
			yields(x, objects, g, 1)
			if x.item(g, uint64(c.items)) != nil {
				t.Errorf("%s: an item that comes later is kept", c.what)
			}
		}
	}
	x, objects := newTable()
	g, own := called(x, objects, stream)
	yields(x, objects, g, 1)
	if x.OwnGone(g, x.item(g, 0), stream) || g.left || own.Local() != 1 {
		t.Error("letting go of one item ends the reading")
	}
}

// The worker of an attempt that ended early may have stored items that it could not tell of.
func TestEnded_AnAttemptWasTorn_TheNextItemsAreFreed(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, stream)
	yields(x, objects, g, 2)
	second := lose(x, g, "second", 0)
	if free := x.Ended(second, "g", stream, true); free != nil {
		t.Errorf("a second run has the store free %v", free)
	}
	free := x.Ended(g, "g", stream, true)
	if want := []ids.Object{x.ItemID(g, 2), x.ItemID(g, 3)}; fmt.Sprint(free) != fmt.Sprint(want) {
		t.Errorf("the store frees %v, want %v", free, want)
	}
	if id := x.ItemID(g, 2); id.Count() != own.ID.Count()+3 || id.Index() != 4 || id.Owner() != x.self {
		t.Errorf("item 2 is %s", id)
	}
}

// The items of a list belong to the list's object when the run has ended.
func TestEnded_AList_ItsItemsAreLetGo(t *testing.T) {
	x, objects := newTable()
	g, own := called(x, objects, frame.FlowDynamic)
	yields(x, objects, g, 2)
	item := x.item(g, 1)
	objects.Contain(own, item)
	x.Ended(g, "g", frame.FlowDynamic, false)
	objects.CarryOut()
	if x.item(g, 0) != nil || x.item(g, 1) != item || item.Pins() != 1 {
		t.Errorf("item 0 is %v, item 1 has %d pins", x.item(g, 0), item.Pins())
	}
}
