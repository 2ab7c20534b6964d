package submit

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxRunUs bounds for how many µs a call may have run by what its worker says: a Duration holds no more.
const maxRunUs = 1e12

// reply handles an answer, a frame of n elements.
func (o *Channel) reply(r *wire.Reader, n int) error {
	c := o.c
	x, err := frame.ReadReply(r, n)
	if err != nil {
		return err
	}
	seq, us := x.Seq, x.Micros
	t := o.sent.Take(seq)
	if t == nil {
		return fmt.Errorf("%w: reply to call %d, which is not outstanding", wire.ErrBadFrame, seq)
	}
	t.stamp(c, trace.Settled, o.Pipe)
	o.count(-1)
	o.CallAnswered(seq, time.Duration(min(us, maxRunUs))*time.Microsecond)
	if l := o.Lease; l != nil {
		l.Answered(float64(us) + 1)
	}
	err = o.answered(t, r, &x)
	if err != nil && t.counted && t.on == o { // it has no answer: it is lost with the connection
		o.sent.Add(t.Seq, t)
		o.count(1)
	}
	return err
}

// receipt tells a worker that the references inside an answer of its are registered, as soon as
// they are. The worker holds nothing if the number is 0.
func (c *Submitter) receipt(worker string, held uint64) {
	if held != 0 {
		c.table.ReceiptWhenRegistered(worker, held)
	}
}

// answered reads the rest of a reply.
func (o *Channel) answered(t *Task, r *wire.Reader, x *frame.Reply) error {
	c, flags := o.c, x.Flags
	isErr := flags&wire.ReplyAppError != 0
	if flags&wire.ReplyUnregistered != 0 {
		c.Unsettled(t, o.addr)
	}
	if isErr && t.Template.RetryErrs && flags&wire.ReplyNoRetry == 0 {
		switch v := c.retry(t, retry.Raised); v.Refusal {
		case retry.Permitted:
			t.on = nil
			c.discard(r, x, t, o, v.Wait())
			o.exitIf(flags)
			return nil
		case retry.Cancelled:
			c.discard(r, x, t, o, 0)
			c.FailTask(t, cancelFault(t))
			o.exitIf(flags)
			return nil
		}
	}
	if flags&wire.ReplyCancelled != 0 {
		c.FailTask(t, cancelFault(t))
		o.exitIf(flags)
		return nil
	}
	if t.Generator != nil {
		return o.lastOf(t, r, x)
	}
	if x.Results != int(t.Returns) {
		return fmt.Errorf("%w: %d results for %d returns", wire.ErrBadFrame, x.Results, t.Returns)
	}
	for i := range x.Results {
		if err := c.result(r, t, i, isErr); err != nil {
			return err
		}
	}
	c.receipt(o.addr, x.Held)
	t.failed = isErr
	c.endTask(t)
	o.exitIf(flags)
	return r.Err()
}
