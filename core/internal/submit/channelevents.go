package submit

import (
	"fmt"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Frames implements transport.Handler: it handles what the worker answered.
func (o *Channel) Frames(b []byte) (int, error) {
	used, err := frame.Each(b, o.frame)
	if err == nil {
		o.refill()
	}
	return used, err
}

// refill sends more to a worker that answered.
func (o *Channel) refill() {
	l := o.Lease
	if l == nil || l.Gone {
		return
	}
	if l.Class.Queue.Len() > 0 {
		o.c.pump(l.Class)
	}
	if l.Busy == 0 {
		o.c.LeaseIdle(l)
	}
}

// frame handles one frame.
func (o *Channel) frame(b []byte) error {
	r, op, n, err := frame.Open(b)
	if err != nil {
		return err
	}
	switch op {
	case wire.OpReply:
		return o.reply(&r, n)
	case wire.OpItem:
		return o.item(&r, n)
	case wire.OpReturned:
		if o.Lease == nil {
			return fmt.Errorf("%w: an actor gives calls back", wire.ErrBadFrame)
		}
		return o.returned(&r)
	case wire.OpHold:
		return o.hearHeld(&r)
	case wire.OpLost:
		return o.lostArguments(&r)
	case wire.OpBlocked:
		if o.Lease != nil {
			o.Lease.Block(true)
		}
	case wire.OpUnblocked:
		if o.Lease != nil {
			o.Lease.Block(false)
		}
	default:
		return fmt.Errorf("%w: op %d from a worker", wire.ErrBadFrame, op)
	}
	return nil
}

// returned handles the calls that a worker gives back because they would have to
// wait for too long there.
func (o *Channel) returned(r *wire.Reader) error {
	seqs, err := frame.ReadReturned(r)
	if err != nil {
		return err
	}
	var back []*Task
	for _, seq := range seqs {
		if t := o.sent.Take(seq); t != nil {
			o.count(-1)
			t.on = nil
			if t.Canceled {
				o.c.FailTask(t, cancelFault(t))
			} else {
				back = append(back, t)
			}
			if o.Lease != nil {
				o.Lease.CameBack()
			}
		}
	}
	if l := o.Lease; l != nil {
		pushFront(&l.Class.Queue, back)
		l.TooDeep()
		o.c.pump(l.Class)
	}
	return nil
}

// ReadsAnswers reports whether a channel is open that its hello named by this number: that
// of a lease, or of a connection to an actor. After the session's end it says yes, because a
// successor may go on with the channels; mu held.
func (c *Submitter) ReadsAnswers(actor bool, number uint64) bool {
	if c.closed {
		return true
	}
	if !actor {
		l := c.Leases[number]
		return l != nil && !l.Gone
	}
	for _, a := range c.Actors {
		if a.Channel != nil && uint64(a.Channel.number) == number {
			return true
		}
	}
	return false
}

// Gone implements transport.Handler: the worker left.
func (o *Channel) Gone(error) {
	c := o.c
	left := o.sent.TakeAll()
	o.count(-len(left))
	if o.Actor != nil {
		c.actorLost(o.Actor, o, left)
		return
	}
	c.leaseLost(o.Lease, left)
}

// Connected notes that the socket is open, or why it cannot be opened.
func (o *Channel) Connected(p Pipe, err error) {
	o.Pipe = p
	if o.Lease != nil {
		o.c.leaseConnected(o.Lease, o, err)
	} else {
		o.c.actorConnected(o.Actor, o, err)
	}
}

// Unwanted reports whether the socket that is being opened is not needed any more.
func (o *Channel) Unwanted() bool {
	if o.Lease != nil {
		return o.Lease.Gone
	}
	return o.Actor.Forgotten()
}
