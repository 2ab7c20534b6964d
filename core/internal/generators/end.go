package generators

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// OwnGone notes that nobody has a reference to an object any more that the run makes. It reports whether the
// worker has to close the generator: when the object is the generator's own, nobody waits for its end.
func (x *Table) OwnGone(g *Generator, o *refs.Object, mode int) (quit bool) {
	if o.ID.Count() != g.own || g.task == nil {
		return false
	}
	if !g.left {
		x.drop(g)
	}
	if mode == frame.FlowDynamic || g.goOn {
		return false
	}
	g.quit = true
	return true
}

// Ended notes that a run has ended, so no more of its items come. Torn: an attempt of it ended early. Then
// the worker may have stored items that it could not tell of, and their ids are returned: the store
// is to free them.
func (x *Table) Ended(g *Generator, name string, mode int, torn bool) (free []ids.Object) {
	t := g.task
	g.task = nil
	if x.yielding[g.own] == g {
		delete(x.yielding, g.own)
	}
	if g.again {
		f := fault.New(fault.StreamInconsistent, "the generator %s ran again, for items that were lost, and yielded fewer than before: what it yields must not change", name)
		x.eachLost(g, t, func(_ uint64, o *refs.Object) { x.objects.Fail(o, f) })
	}
	if !g.again {
		x.EachHead(g, func(_ uint64, o *refs.Object) {
			x.objects.Fail(o, noMore())
			if !g.left {
				x.objects.Unpin(o)
			}
		})
	}
	if torn && !g.again {
		for i := range uint64(untold) {
			free = append(free, x.ItemID(g, g.got+i))
		}
	}
	if mode == frame.FlowDynamic && !g.left { // its own object holds them from now on
		x.drop(g)
	}
	return free
}

// noMore is what stands in the place of an item that a generator has not yielded.
func noMore() *fault.Error {
	return fault.New(fault.EndOfStream, "the generator has ended and has no more items")
}
