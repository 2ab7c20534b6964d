package submit

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// lostArguments: a worker gives a task back.
func (o *Channel) lostArguments(r *wire.Reader) error {
	seq, lost, err := frame.ReadLost(r)
	if err != nil {
		return err
	}
	c, t := o.c, o.sent.Take(seq)
	if t == nil {
		return nil
	}
	o.count(-1)
	t.on = nil
	if l := o.Lease; l != nil {
		l.CameBack()
		l.Resume()
	}
	switch v := c.retry(t, retry.ArgumentLost); v.Refusal {
	case retry.Cancelled:
		c.FailTask(t, cancelFault(t))
		return nil
	case retry.LostTooOften:
		c.FailTask(t, fault.New(fault.ObjectLost, "an argument of %s was lost again and again", t.Template.Name))
		return nil
	}
	for _, i := range lost {
		if o := t.At(i); o != nil {
			c.table.Missed(o)
			c.waitFor(t, o)
		}
	}
	c.begin(t)
	return nil
}
