package generators

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// The objects of a generator's items.

func (x *Table) item(g *Generator, i uint64) *refs.Object { return x.objects.FindOwned(g.own + 1 + i) }

// ItemID is the id of an item.
func (x *Table) ItemID(g *Generator, i uint64) ids.Object {
	return ids.NewObject(g.own+1+i, x.self, x.job, uint32(i+2))
}

// Place returns the object of an item that the program was not given yet. If it makes the object, it pins it.
func (x *Table) Place(g *Generator, i uint64) *refs.Object {
	if o := x.item(g, i); o != nil {
		return o
	}
	o := x.objects.Place(g.own+1+i, uint32(i+2))
	x.objects.Pin(o)
	if g.task != nil {
		o.SetSource(g.task)
	}
	if own := x.objects.FindOwned(g.own); own != nil {
		o.SetOrigin(own.Site(), own.Maker())
	}
	return o
}

// EachHead calls f with the objects that the next items of a first run will be and that somebody waits for.
func (x *Table) EachHead(g *Generator, f func(i uint64, o *refs.Object)) {
	for i := g.got; i <= max(g.got, g.ahead); i++ {
		if o := x.item(g, i); o != nil {
			f(i, o)
		}
	}
}

// EachItem calls f with the items that have come and that somebody still holds.
func (x *Table) EachItem(g *Generator, f func(o *refs.Object)) {
	for i := range g.came() {
		if o := x.item(g, i); o != nil {
			f(o)
		}
	}
}

// EachLost calls f with the items that a second run is to make anew.
func (x *Table) EachLost(g *Generator, f func(i uint64, o *refs.Object)) {
	if g.task != nil {
		x.eachLost(g, g.task, f)
	}
}

// eachLost is EachLost of a run whose call is, or was, t.
func (x *Table) eachLost(g *Generator, t refs.Task, f func(i uint64, o *refs.Object)) {
	for i := range g.came() {
		if o := x.item(g, i); o != nil && !o.State().Ready() && o.Source() == t {
			f(i, o)
		}
	}
}

// EachToCome calls f with the items that the run is still to make and that somebody waits for. For a first run
// that is the next item, and others if the program has asked for references to them.
func (x *Table) EachToCome(g *Generator, f func(i uint64, o *refs.Object)) {
	if g.again {
		x.EachLost(g, f)
	} else {
		x.EachHead(g, f)
	}
}

// Makes reports whether a second run has items to make.
func (x *Table) Makes(g *Generator) (some bool) {
	x.EachLost(g, func(uint64, *refs.Object) { some = true })
	return some
}

// Yielding returns the first run that yields an item, nil if that run has ended, or if the object is no item.
func (x *Table) Yielding(o *refs.Object) *Generator {
	i := uint64(o.ID.Index())
	if i < 2 || i > o.ID.Count() {
		return nil
	}
	return x.yielding[o.ID.Count()-(i-1)]
}

// drop lets go of the items that the program has not taken. Items that come later are not kept.
func (x *Table) drop(g *Generator) {
	g.left = true
	for i := g.taken; i <= max(g.got, g.ahead); i++ {
		if o := x.item(g, i); o != nil && (i < g.got || g.task != nil) {
			x.objects.Unpin(o)
		}
	}
}

// Resume says with what the next attempt of the run goes on.
func (x *Table) Resume(g *Generator) frame.Resume {
	r := frame.Resume{Have: g.got, Taken: g.taken, Quit: g.quit}
	if g.left {
		r.Taken = frame.All
	}
	if g.again {
		r.Have = frame.All
		x.EachLost(g, func(i uint64, _ *refs.Object) { r.Lost = append(r.Lost, i) })
	}
	return r
}
