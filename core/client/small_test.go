package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/execute"
)

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

// Functions to be let go of are told before calls, each once, the latest first.
func TestTakeCalls_Forgets_EachOnce(t *testing.T) {
	c := bareClient(t, Options{})
	e := execute.New((*host)(c), c.info.Job)
	c.exec = e
	forget := func(list ...string) {
		for _, fid := range list {
			e.Forget([]byte(fid))
		}
	}
	forget("a", "b", "c")
	got := ""
	for _, most := range []int{2, 9} {
		for _, it := range c.takeCalls(nil, most) {
			got += string(it.Blob)
			if it.Kind != ItemForget {
				t.Errorf("kind %d", it.Kind)
			}
		}
	}
	if n := e.Counts().Forgets; got != "cba" || n != 0 {
		t.Errorf("told %q, %d are left", got, n)
	}
	forget("d")
	e.Stop("over")
	for _, it := range c.takeCalls(nil, 9) {
		if it.Kind == ItemForget {
			t.Error("a function is let go of after the end")
		}
	}
}
