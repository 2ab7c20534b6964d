package submit

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/actors"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The calls of an actor whose process has ended. Package actors asks which of them had
// begun, and then each call runs again or fails. When the actor is dead for good all
// its calls fail.

// actorLost notes that the socket to an actor broke, and which calls it had.
// Newer calls wait until it is known which of these had begun, because those
// that are sent again go first; mu held.
func (c *Submitter) actorLost(a *Actor, o *Channel, sent []*Task) {
	if a.Channel == o {
		a.Channel = nil
	}
	if c.closed {
		return
	}
	a.Sent = sent
	for _, t := range sent {
		t.on = nil
	}
	if a.Dead() != nil {
		a.failSent()
		return
	}
	a.takeBack(o)
	a.Lost(o.incarnation())
	if len(sent) > 0 || a.Queue.Len() > 0 {
		a.Resolve()
		a.waits(c.Looks)
		c.watchPending()
	}
}

// takeBack queues the calls again that never left this process. Nobody reads the socket to an idle actor, so that its end is often
// noticed by the next call. When the actor's node is gone nobody else could say that this call has not begun; mu held.
func (a *Actor) takeBack(o *Channel) {
	sent, stayed := o.left(a.Sent)
	var again []*Task
	a.Sent = slices.Clone(sent)
	for _, t := range stayed {
		if v := a.c.retry(t, retry.NotBegun); v.Refusal == retry.Permitted {
			again = append(again, t)
		} else {
			a.Sent = append(a.Sent, t)
		}
	}
	a.Queue.pushFront(again)
}

// Sort implements actors.Calls: retries.go hears what happened to each call that
// the incarnation had. Those that run again go to the front of the queue, in their order; mu held.
func (a *Actor) Sort(f *wire.ActorDeath) {
	c, sent := a.c, a.Sent
	a.Sent = nil
	var again []*Task
	for _, t := range sent {
		why := retry.NotBegun
		if !f.Known || int32(t.Seq-f.Started) <= 0 {
			why = retry.ActorDied
		}
		switch v := c.retry(t, why); v.Refusal {
		case retry.Permitted:
			again = append(again, t)
		case retry.Cancelled:
			c.FailTask(t, cancelFault(t))
		default:
			c.FailTask(t, actors.Unavailable(f))
		}
	}
	if len(again) > 1 && planted.Strikes(planted.WrongOrder) {
		slices.Reverse(again)
	}
	a.Queue.pushFront(again)
}

// forgetSent removes a cancelled call from those of which it is not known whether they had begun.
func (a *Actor) forgetSent(t *Task) {
	a.Sent = slices.DeleteFunc(a.Sent, func(x *Task) bool { return x == t })
}

// FailCalls implements actors.Calls; mu held.
func (a *Actor) FailCalls() {
	a.failSent()
	for a.Queue.Len() > 0 {
		a.c.failCall(a, a.Queue.Pop())
	}
}

// failSent fails the calls that a dead actor had when its socket broke. The
// death and the end of the socket become known in either order; mu held.
func (a *Actor) failSent() {
	sent := a.Sent
	a.Sent = nil
	for _, t := range sent {
		if t.Canceled {
			a.c.FailTask(t, cancelFault(t))
		} else {
			a.c.failCall(a, t)
		}
	}
}

// failCall fails a call of a dead actor with the constructor's exception, if that is why it is dead; mu held.
func (c *Submitter) failCall(a *Actor, t *Task) {
	if env, raised := a.Exception(); env != nil {
		c.freeWritten(t)
		t.failed, t.why = true, templates.NewWhy(string(fault.ActorDied), envelope.ExceptionText(env, t.Template.Name))
		c.eachReturn(t, func(_ int, o *refs.Object) {
			if raised != nil && !o.State().Ready() {
				c.table.Contain(o, raised)
			}
			o.MarkSeen() // the actor's process has told of the constructor's exception; calls of dead actors are not told of
			c.table.Complete(o, refs.Inline, env, uint64(len(env)), true)
		})
		c.endTask(t)
		return
	}
	c.FailTask(t, a.Dead())
}
