package generators

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// What a program is given of a generator that it called: one item after the other.

// State says how far a generator is for who reads it.
type State int

// The states of a generator.
const (
	Waits  State = iota // the next item has not come
	Item                // it has
	Failed              // no more items come, and the program does not know yet why
	End
)

// of returns a generator that the program reads, and its own object.
func (x *Table) of(gen ids.Object) (*Generator, *refs.Object, error) {
	if x.ended != nil {
		return nil, nil, x.ended
	}
	g, o := x.read[gen.Count()], x.objects.Find(gen)
	if g == nil || o == nil || gen.Owner() != x.self {
		return nil, nil, fault.New(fault.BadRequest, "object %s is not a generator that this process reads", gen)
	}
	return g, o, nil
}

// state says how far the generator, whose own object is o, is for the program.
func (g *Generator) state(o *refs.Object) State {
	switch {
	case g.taken < g.got:
		return Item
	case g.told:
		return End
	case o.State() == refs.Infeasible && !g.warned:
		return Failed
	case g.task != nil:
		return Waits
	case o.IsError():
		return Failed
	}
	return End
}

// State says how far a generator is for the program.
func (x *Table) State(gen ids.Object) (State, error) {
	g, o, err := x.of(gen)
	if err != nil {
		return 0, err
	}
	return g.state(o), nil
}

// Take gives the program a reference to the next item of a generator. If the generator
// has failed, the reference is to its own object, once. Waits: the next item has not
// come, and there is no reference.
func (x *Table) Take(gen ids.Object) (g *Generator, id ids.Object, st State, err error) {
	g, own, err := x.of(gen)
	if err != nil {
		return nil, id, 0, err
	}
	switch st = g.state(own); st {
	case Failed:
		g.warned = own.State() == refs.Infeasible // it may run after all
		g.told = !g.warned
		x.objects.Ref(own)
		id = own.ID
	case Item:
		o := x.Place(g, g.taken)
		x.objects.Ref(o)
		g.taken++
		x.objects.Unpin(o)
		id = o.ID
	}
	return g, id, st, nil
}

// Next returns the object that becomes ready when Take has something to give. Waits: it is not ready now.
func (x *Table) Next(gen ids.Object) (o *refs.Object, waits bool, err error) {
	g, o, err := x.of(gen)
	if err != nil {
		return nil, false, err
	}
	st := g.state(o)
	if st == Item || st == Waits {
		o = x.Place(g, g.taken)
	}
	return o, st == Waits, nil
}

// Ahead gives the program a reference to the item that is n items after the next one, which need not have come.
// Waits: it is not ready now. Nothing is taken. Where the run has ended and yielded fewer items, the object is an
// error: that of the generator if it has failed and the program was not told, else EndOfStream.
func (x *Table) Ahead(gen ids.Object, n int) (id ids.Object, waits bool, err error) {
	g, own, err := x.of(gen)
	if err != nil {
		return id, false, err
	}
	i := g.taken + uint64(max(n, 0))
	if n < 0 || i >= MaxItems-2 || i > g.got && i-g.got > MaxAhead {
		return id, false, fault.New(fault.BadRequest, "a reference to item %d of a generator was asked for, of which %d items have come: at most %d items ahead can be referred to", i, g.got, MaxAhead)
	}
	o := x.item(g, i)
	switch made := o == nil; {
	case i < g.got || g.task != nil:
		o = x.Place(g, i)
		g.ahead = max(g.ahead, i)
		x.objects.Ref(o)
	case made:
		o = x.Place(g, i)
		x.objects.Ref(o)
		x.objects.Unpin(o) // it is never taken
		if own.IsError() && !g.told {
			x.objects.FailAs(o, own)
			o.MarkSeen() // the generator itself tells of it
		} else {
			x.objects.Fail(o, noMore())
		}
	default:
		x.objects.Ref(o)
	}
	return o.ID, !o.State().Ready(), nil
}

// Taken returns how many items the worker is to count as taken, and whether it has to hear that at
// once. Counted: the worker counts them.
func (g *Generator) Taken(f *frame.Flow, now bool) (n uint64, counted, soon bool) {
	if f.Limit == 0 && !f.Counted {
		return 0, false, false
	}
	n = g.taken
	if g.left {
		n = frame.All
	}
	// A worker that has all that it may send waits for this.
	return n, true, now || !g.left && (f.Counted || g.got-g.taken+1 >= f.Limit)
}

// GoesOn reports whether the run goes on to its end although nobody reads it.
func (g *Generator) GoesOn() bool { return g.goOn }

// Leave notes that the program reads a generator no more. It returns the generator, nil if the program
// did not read it. If no item has come, the program wanted what the generator does and not what it yields, so
// the generator runs to its end.
func (x *Table) Leave(own uint64) *Generator {
	g := x.read[own]
	if g == nil {
		return nil
	}
	delete(x.read, own)
	g.goOn = g.got == 0
	x.drop(g)
	return g
}
