package client

import (
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wire"
)

// maxRunUs bounds for how many µs a call may have run by what its worker says: a Duration holds no more.
const maxRunUs = 1e12

// reply handles an answer, a frame of n elements.
func (o *outConn) reply(r *wire.Reader, n int) error {
	c := o.c
	x, err := frame.ReadReply(r, n)
	if err != nil {
		return err
	}
	seq, us := x.Seq, x.Micros
	t := o.sent.take(seq)
	if t == nil {
		return fmt.Errorf("%w: reply to call %d, which is not outstanding", wire.ErrBadFrame, seq)
	}
	t.stamp(c, trace.Settled, o.pipe)
	c.inflight--
	o.CallAnswered(seq, time.Duration(min(us, maxRunUs))*time.Microsecond)
	if l := o.lease; l != nil {
		l.busy--
		l.paused, l.blocked = false, false
		l.class.paces[l.choice].measure(float64(us) + 1)
	}
	err = o.answered(t, r, &x)
	if err != nil && t.counted && t.on == o { // it has no answer: it is lost with the connection
		o.sent.add(t)
		c.inflight++
	}
	return err
}

// answered reads the rest of a reply.
func (o *outConn) answered(t *task, r *wire.Reader, x *frame.Reply) error {
	c, flags := o.c, x.Flags
	isErr := flags&wire.ReplyAppError != 0
	if flags&wire.ReplyUnregistered != 0 {
		c.unsettled(t, o.peerAddr)
	}
	if isErr && t.tmpl.RetryErrs && flags&wire.ReplyNoRetry == 0 {
		switch v := c.retry(t, raised); v.refusal {
		case permitted:
			t.on = nil
			c.discard(r, x.Results, t, o, v.wait())
			o.exitIf(flags)
			return nil
		case cancelled:
			c.discard(r, x.Results, t, o, 0)
			c.failTask(t, cancelFault(t))
			o.exitIf(flags)
			return nil
		}
	}
	if flags&wire.ReplyCancelled != 0 {
		c.failTask(t, cancelFault(t))
		o.exitIf(flags)
		return nil
	}
	if t.stream != nil {
		return o.lastOf(t, r, x)
	}
	inner := false
	if x.Results != int(t.returns) {
		return fmt.Errorf("%w: %d results for %d returns", wire.ErrBadFrame, x.Results, t.returns)
	}
	for i := range x.Results {
		had, err := c.result(r, t, i, isErr)
		if err != nil {
			return err
		}
		inner = inner || had
	}
	if inner {
		c.table.ReceiptWhenRegistered(o.peerAddr, t.id(c))
	}
	t.failed = isErr
	c.endTask(t)
	o.exitIf(flags)
	return r.Err()
}

// exitIf gives a lease up whose worker ends by itself.
func (o *outConn) exitIf(flags uint64) {
	if flags&wire.ReplyExiting != 0 && o.lease != nil {
		back := o.sent.takeAll()
		o.c.inflight -= len(back)
		for _, t := range back {
			t.on = nil
		}
		o.c.dropLease(o.lease, wire.LeaseReturn{LeaseID: o.lease.id, Exiting: true})
		// The worker may have ended before it heard of a cancellation.
		back = slices.DeleteFunc(back, func(t *task) bool {
			if t.canceled {
				o.c.failTask(t, cancelFault(t))
			}
			return t.canceled
		})
		o.lease.class.queue.pushFront(back)
		o.c.pump(o.lease.class)
	}
}

// result reads one result of a reply into the i-th return. It reports whether there are
// references inside.
func (c *submitter) result(r *wire.Reader, t *task, i int, isErr bool) (inner bool, err error) {
	id := ids.NewObject(t.first+uint64(i), c.self, c.info.Job, uint32(i+1))
	o := c.table.FindOwned(t.first + uint64(i))
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
		return false, err
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
			return false, fmt.Errorf("%w: result %d of %s was left out, and is not here", wire.ErrBadFrame, i, t.tmpl.Name)
		}
		return false, nil
	}
	var before []*refs.Object
	if o != nil {
		before = c.table.TakeContained(o) // of the value that is lost
	}
	for range x.Contained {
		in, addr, err := frame.ReadContained(r)
		if err != nil {
			return inner, err
		}
		inner = true
		if o != nil {
			c.table.Contain(o, c.table.Borrow(in, addr))
		}
	}
	if o == nil { // nobody waits for the result any more
		if state == refs.Stored && !good {
			c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
		}
		if isErr && !held && !t.canceled {
			c.fx.NeverFetched(t, value, size)
		}
		return inner, nil
	}
	for _, x := range before {
		c.table.Unpin(x)
	}
	if state == refs.Inline && (t.tries > 0 || isErr && t.returns > 1) {
		// An earlier try may have written a large one, or this one, before the next of its results had no room.
		c.fx.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	}
	if isErr && t.canceled { // who cancels does not wait for what comes of it
		o.MarkSeen()
	}
	c.table.Complete(o, state, value, size, isErr)
	return inner, nil
}
