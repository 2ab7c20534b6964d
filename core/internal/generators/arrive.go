package generators

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// What a worker sends of a generator: its items in their order, and the exception that it
// raised, which is its last item. The submitter reads the frames.

// Takes reports whether item i may come now. A second run sends again what was lost.
func (g *Generator) Takes(i uint64) bool { return i == g.got || g.again && i < g.got }

// TakesLast reports whether item i may be the exception that the run ends with. A run that nobody reads
// may have yielded items that were not sent.
func (g *Generator) TakesLast(i uint64) bool {
	return i < MaxItems-2 && (i == g.got || g.again || g.left && i > g.got)
}

// Comes notes that item i is about to be read. It makes a place for an item that is kept.
func (x *Table) Comes(g *Generator, i uint64) {
	if !g.left {
		x.Place(g, i)
	}
}

// Came notes that item i was read.
func (g *Generator) Came(i uint64) {
	if i == g.got && !g.again {
		g.got++
	}
}

// PlaceLast makes a place for the exception of a second run, which is its item i. The exception stands for all items
// that the run has not made. The worker chose the first of these for it, and wrote it to the store under that item's
// id if it is large. The program may have let go of that item since: then the item's object comes back, and
// the others keep it alive for as long as they need its exception. The caller unpins what is returned.
func (x *Table) PlaceLast(g *Generator, i uint64) *refs.Object {
	if x.item(g, i) != nil || !x.Makes(g) {
		return nil
	}
	return x.Place(g, i)
}

// RaisedLost ends the items that a second run was to make, and has not, with the exception that it raised: its item i.
func (x *Table) RaisedLost(g *Generator, i uint64) {
	if e := x.item(g, i); e != nil && e.IsError() && e.State().Ready() {
		x.EachLost(g, func(_ uint64, o *refs.Object) { x.objects.FailAs(o, e) })
	}
}

// RaisedAll gives the generator's own object the exception that is the run's item i.
func (x *Table) RaisedAll(g *Generator, own *refs.Object, i uint64) {
	if e := x.item(g, i); e != nil && e.IsError() {
		x.objects.FailAs(own, e)
		g.told = true // by the item
	}
}

// ListDiffers ends the list of a generator's items that a second run has made anew and that names other items than
// the lost one did: the run has ended earlier or later, or has raised elsewhere. The items are those of the first run,
// so this list would silently be too short, or name items that nobody has.
func (x *Table) ListDiffers(list *refs.Object, name string) {
	for _, o := range x.objects.TakeContained(list) {
		x.objects.Unpin(o)
	}
	x.objects.Fail(list, fault.New(fault.StreamInconsistent, "the generator %s ran again, because the list of its items was lost, and yielded other items than before: what it yields must not change", name))
}
