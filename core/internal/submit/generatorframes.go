package submit

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// item reads what a generator yielded.
func (o *Channel) item(r *wire.Reader, n int) error {
	x, err := frame.ReadItem(r, n)
	if err != nil {
		return err
	}
	t, i := o.sent.Get(x.Seq), x.Index
	if t == nil || t.Generator == nil {
		return fmt.Errorf("%w: item of call %d, which is no generator", wire.ErrBadFrame, x.Seq)
	}
	if g := t.Generator; !g.Takes(i) {
		return fmt.Errorf("%w: item %d of a generator after %d", wire.ErrBadFrame, i, g.Got())
	}
	if err := o.comes(t, i, r, x.Flags&wire.ReplyAppError != 0); err != nil {
		return err
	}
	o.c.receipt(o.addr, x.Held)
	return nil
}

// comes reads item i of the generator.
func (o *Channel) comes(t *Task, i uint64, r *wire.Reader, isErr bool) error {
	c, g := o.c, t.Generator
	c.Generators.Comes(g, i)
	err := c.result(r, t, int(i)+1, isErr)
	if err == nil {
		g.Came(i)
	}
	return err
}

// lastOf reads a generator's answer. Of one that raised the exception comes as its last item.
func (o *Channel) lastOf(t *Task, r *wire.Reader, x *frame.Reply) error {
	c, flags, want := o.c, x.Flags, 1
	last := flags&wire.ReplyLastItem != 0
	if last {
		want = 2
	}
	if x.Results != want {
		return fmt.Errorf("%w: %d results of a generator, want %d", wire.ErrBadFrame, x.Results, want)
	}
	if last {
		if g := t.Generator; !g.TakesLast(x.Item) {
			return fmt.Errorf("%w: an exception as item %d of a generator after %d", wire.ErrBadFrame, x.Item, g.Got())
		}
		if err := o.raises(t, x.Item, r); err != nil {
			return err
		}
		if t.Template.RetryErrs && flags&wire.ReplyNoRetry == 0 { // it would have been tried again: then all of it has failed
			c.failsAs(t, x.Item)
		}
	}
	if err := c.result(r, t, 0, flags&wire.ReplyAppError != 0 && !last); err != nil {
		return err
	}
	c.receipt(o.addr, x.Held)
	c.endTask(t)
	o.exitIf(flags)
	return r.Err()
}

// raises reads the exception that a generator ends with, which is its item i. A run for lost items gives it to
// all that it has not made, see generators.Table.PlaceLast.
func (o *Channel) raises(t *Task, i uint64, r *wire.Reader) error {
	c, g := o.c, t.Generator
	if !g.Second() {
		return o.comes(t, i, r, true)
	}
	if x := c.Generators.PlaceLast(g, i); x != nil {
		defer func() {
			c.table.Unpin(x)
			c.table.CarryOut()
		}()
	}
	if err := o.comes(t, i, r, true); err != nil {
		return err
	}
	c.Generators.RaisedLost(g, i)
	return nil
}

// failsAs gives a generator's own object the exception that is its item i; mu held.
func (c *Submitter) failsAs(t *Task, i uint64) {
	if o := c.table.FindOwned(t.First); o != nil && t.makes(o) { // the first run may still end well
		c.Generators.RaisedAll(t.Generator, o, i)
	}
}
