package submit

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The calls of generators. Package generators knows how far each one is and who wants
// its items; here the workers are told, and the calls end.

// TakeItem gives the program a reference to the next item of a generator, see generators.Table.Take, and
// tells the worker; mu held.
func (c *Submitter) TakeItem(gen ids.Object) (ids.Object, generators.State, error) {
	g, id, st, err := c.Generators.Take(gen)
	if st == generators.Item {
		c.tellTaken(g, false)
	}
	return id, st, err
}

// LeaveStream notes that the program reads a generator no more; mu held. If nobody waits for its end either, the worker
// hears in the same write that it is to close the generator: until then it counts on a limit. A program may let go of a
// generator of a session that has ended: one of this session may have the same count.
func (c *Submitter) LeaveStream(gen ids.Object) {
	if gen.Owner() != c.Self {
		return
	}
	if g := c.Generators.Leave(gen.Count()); g != nil {
		c.tellTaken(g, g.GoesOn())
	}
}

// tellTaken tells the worker how many items the program has taken, if the worker counts them.
func (c *Submitter) tellTaken(g *generators.Generator, now bool) {
	t := TaskOf(g.Task())
	if t == nil || t.on == nil {
		return
	}
	n, counted, soon := g.Taken(&t.Template.Flow, now)
	if !counted {
		return
	}
	o := t.on
	o.Queue(frame.AppendTaken(o.Buffer(), t.Seq, n))
	if soon {
		o.Flush()
	}
	if o.Unsent() > 0 {
		o.SendSoon()
	}
}

// unwanted notes that nobody has a reference to a result of a generator any more; mu held.
func (c *Submitter) unwanted(t *Task, o *refs.Object) {
	if c.Generators.OwnGone(t.Generator, o, t.Template.Flow.Mode) && t.on != nil {
		t.on.Queue(frame.AppendQuit(t.on.Buffer(), t.Seq))
		t.on.Flush()
	}
}

// streamEnded notes that a run of a generator has ended; mu held.
func (c *Submitter) streamEnded(t *Task) {
	free := c.Generators.Ended(t.Generator, t.Template.Name, t.Template.Flow.Mode, t.Tries > 0 || t.failed)
	if len(free) > 0 {
		var list [][]byte
		for _, id := range free {
			list = append(list, idBytes(id))
		}
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: list})
	}
	c.table.CarryOut()
}

// recoverItem gives a lost item a recipe if its generator still runs and may run
// a second time. It gives none for an actor's generator that waits for its
// program to take items, because that call would keep a second one from ever
// beginning; mu held.
func (c *Submitter) recoverItem(o *refs.Object) {
	t := c.yieldingOf(o)
	if t == nil || t.actor != nil && t.Template.Flow.Limit > 0 {
		return
	}
	if why := c.once(t); why != refs.Whole {
		c.table.SetRecipe(o, refs.NoRecipe(why))
		return
	}
	c.table.Record(c.recipeOf(t), []*refs.Object{o})
}

// yieldingOf returns the task that yields an item, nil if that task has ended, or if the object is no item.
func (c *Submitter) yieldingOf(o *refs.Object) *Task {
	if g := c.Generators.Yielding(o); g != nil {
		return TaskOf(g.Task())
	}
	return nil
}
