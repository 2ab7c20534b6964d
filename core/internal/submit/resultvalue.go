package submit

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// exitIf gives a lease up whose worker ends by itself.
func (o *Channel) exitIf(flags uint64) {
	if flags&wire.ReplyExiting != 0 && o.Lease != nil {
		back := o.sent.TakeAll()
		o.count(-len(back))
		for _, t := range back {
			t.on = nil
		}
		o.c.Drop(o.Lease, wire.LeaseReturn{LeaseID: o.Lease.ID, Exiting: true})
		// The worker may have ended before it heard of a cancellation.
		back = slices.DeleteFunc(back, func(t *Task) bool {
			if t.Canceled {
				o.c.FailTask(t, cancelFault(t))
			}
			return t.Canceled
		})
		pushFront(&o.Lease.Class.Queue, back)
		o.c.pump(o.Lease.Class)
	}
}

// result reads one result of a reply into the i-th return.
func (c *Submitter) result(r *wire.Reader, t *Task, i int, isErr bool) error {
	id := ids.NewObject(t.First+uint64(i), c.Self, c.Job, uint32(i+1))
	o := c.table.FindOwned(t.First + uint64(i))
	held := o != nil
	if o != nil && !t.makes(o) {
		o = nil
	}
	good := o != nil && o.State() == refs.Stored // a copy from a run before this one
	if o != nil && (o.State().Ready() || o.State() == refs.Evicted) {
		o = nil
	}
	x, err := frame.ReadResult(r)
	if err != nil {
		return err
	}
	var value []byte
	var size uint64
	state := refs.Inline
	switch x.Place {
	case wire.PlaceInline:
		value = append([]byte(nil), x.Envelope...)
		size = uint64(len(value))
	case wire.PlaceStore:
		state = refs.Stored
		size = x.Size
		t.stored = true
	case wire.PlaceHad:
		if o != nil && !o.State().Ready() && o.Source() == t {
			return fmt.Errorf("%w: result %d of %s was left out, and is not here", wire.ErrBadFrame, i, t.Template.Name)
		}
		return nil
	}
	if isErr && (i == 0 || t.Generator != nil) {
		t.why = raised(t, value)
	}
	var before []*refs.Object
	if o != nil {
		before = c.table.TakeContained(o) // of the value that is lost
	}
	other := len(before) != x.Contained // references than before
	for k := range x.Contained {
		in, addr, err := frame.ReadContained(r)
		if err != nil {
			return err
		}
		if o != nil {
			b := c.table.Borrow(in, addr)
			other = other || before[k] != b
			c.table.Contain(o, b)
		}
	}
	if o == nil { // nobody waits for the result any more
		if state == refs.Stored && !good {
			c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
		}
		if isErr && !held && !t.Canceled {
			c.fx.NeverFetched(t.First, t.Template.Name, value, size)
		}
		return nil
	}
	for _, x := range before {
		c.table.Unpin(x)
	}
	if other && !isErr && len(before) > 0 && t.listsAgain(i) {
		if state == refs.Stored {
			c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
		}
		t.failed = true
		c.Generators.ListDiffers(o, t.Template.Name)
		return nil
	}
	if state == refs.Inline && (t.Tries > 0 || isErr && t.Returns > 1) {
		// An earlier try may have written a large one, or this one, before the next of its results had no room.
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	}
	if isErr && t.Canceled { // who cancels does not wait for what comes of it
		o.MarkSeen()
	}
	if state == refs.Stored {
		c.table.SetHome(o, t.ranOn())
	}
	c.table.Complete(o, state, value, size, isErr)
	return nil
}

// listsAgain reports whether the i-th result of a task is the list of a generator's items, which was lost and which a
// second run has made anew.
func (t *Task) listsAgain(i int) bool {
	return i == 0 && t.Generator != nil && t.Generator.Second() && t.Template.Flow.Mode == frame.FlowDynamic
}
