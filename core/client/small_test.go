package client

import "testing"

// What Item.Returns says of a generator tells its kind and its results for each item apart.
func TestFlow_Returns_TellsKindAndNumberApart(t *testing.T) {
	seen := map[int]Flow{}
	for _, mode := range []int{FlowStream, FlowDynamic} {
		for each := range 6 {
			f := Flow{Mode: mode, Each: each}
			n := generatorReturns(f)
			if n >= 0 || (n%2 != 0) != (mode == FlowStream) {
				t.Errorf("%+v is told as %d", f, n)
			}
			if other, there := seen[n]; there && (other.Mode != mode || max(1, other.Each) != max(1, each)) {
				t.Errorf("%+v and %+v are both told as %d", f, other, n)
			}
			seen[n] = f
		}
	}
}

// An actor that is to end has done everything when nothing is unread, running or queued.
func TestDrained_OnlyWhenNothingIsLeft(t *testing.T) {
	if !(&executor{draining: true}).drained() {
		t.Error("an actor with nothing to do is not done")
	}
	for what, e := range map[string]*executor{
		"it is not to end":          {},
		"something may be unread":   {draining: true, unread: true},
		"a call runs":               {draining: true, busy: 1},
		"a call waits in the queue": {draining: true, lane: lane{queue: []*call{{}}}},
	} {
		if e.drained() {
			t.Errorf("%s, and it is done", what)
		}
	}
}

// Functions to be let go of are told before calls, each once, the latest first.
func TestTakeCalls_Forgets_EachOnce(t *testing.T) {
	e := &executor{c: startDaemon(t).driver(), forgets: [][]byte{[]byte("a"), []byte("b"), []byte("c")}}
	got := ""
	for _, it := range e.takeCalls(nil, 2) {
		got += string(it.Blob)
		if it.Kind != ItemForget {
			t.Errorf("kind %d", it.Kind)
		}
	}
	for _, it := range e.takeCalls(nil, 9) {
		got += string(it.Blob)
	}
	if got != "cba" || len(e.forgets) != 0 {
		t.Errorf("told %q, %d are left", got, len(e.forgets))
	}
	e.forgets, e.ended = [][]byte{{1}}, "over"
	for _, it := range e.takeCalls(nil, 9) {
		if it.Kind == ItemForget {
			t.Error("a function is let go of after the end")
		}
	}
}
