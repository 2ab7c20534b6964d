package leases

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
)

// The list of the functions that wait has those with a queue that can run, each once.
func TestNote_QueueFillsAndEmpties_TheListFollows(t *testing.T) {
	s := &shape[task, channel]{}
	a, b := &class{shape: s}, &class{shape: s}
	is := func(what string, want ...*class) {
		t.Helper()
		for _, k := range []*class{a, b} {
			k.Note()
			k.Note()
			if k.listed != slices.Contains(want, k) {
				t.Errorf("%s: a class is said to be listed: %v", what, k.listed)
			}
		}
		if !slices.Equal(s.waiting, want) {
			t.Errorf("%s: %d classes wait, want %d", what, len(s.waiting), len(want))
		}
	}
	is("nothing waits")
	b.Queue.Push(&task{})
	is("one waits", b)
	a.Queue.Push(&task{})
	is("both wait", b, a)
	b.Queue.Pop()
	is("the first has nothing more", a)
	a.Bad = fault.New(fault.RuntimeEnvSetup, "no such module")
	is("the other cannot run")
	a.Bad = nil
	b.Queue.Push(&task{})
	is("both wait again", a, b)
	alone := &class{}
	alone.Queue.Push(&task{})
	if alone.Note(); alone.listed {
		t.Error("a class without a shape is in a list")
	}
}

// Leases that rest are counted, each once, and not in classes that share nothing.
func TestRest_LeasesBeginAndEndToRest_AreCountedOnce(t *testing.T) {
	s := &shape[task, channel]{}
	a, b, alone := &lease{Class: &class{shape: s}}, &lease{Class: &class{shape: s}}, &lease{Class: &class{}}
	for i, x := range []struct {
		l    *lease
		idle bool
		want int
	}{{a, true, 1}, {a, true, 1}, {b, true, 2}, {alone, true, 2}, {a, false, 1}, {a, false, 1}, {alone, false, 1}, {b, false, 0}} {
		if x.l.setIdle(x.idle); s.idle != x.want || x.l.idle != x.idle {
			t.Errorf("step %d: %d leases rest, want %d", i, s.idle, x.want)
		}
	}
}
