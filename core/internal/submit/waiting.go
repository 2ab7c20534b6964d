package submit

import (
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/waiting"
)

// The program's user is told when tasks or actors wait for long, and why: package waiting says
// when, this file finds them.

// watchPending looks once a second at what waits, for as long as anything does.
func (c *Submitter) watchPending() {
	if !c.closed && c.Arm() {
		c.lookAgain()
	}
}

func (c *Submitter) lookAgain() {
	if c.pendingTimer == nil {
		c.pendingTimer = c.fx.After(waiting.Pause, c.reportPending)
	} else {
		c.pendingTimer.Reset(waiting.Pause)
	}
}

// reportPending warns about what has waited for long, once a minute for each kind.
func (c *Submitter) reportPending() {
	if reports := c.LookAtWaiting(); len(reports) > 0 {
		c.fx.Report(reports)
	}
}

// LookAtWaiting counts a look, and returns what the user should be told of now.
func (c *Submitter) LookAtWaiting() (reports []*waiting.Report) {
	again := true
	if c.Watch.Look() {
		reports, again = c.StillWaiting(time.Now())
	}
	if c.Armed = again; again {
		c.lookAgain()
	}
	return reports
}

// StillWaiting returns what has waited for long and was not reported in the last minute. Again: something waits.
func (c *Submitter) StillWaiting(now time.Time) (out []*waiting.Report, again bool) {
	var l waiting.List
	for _, look := range []func(*waiting.List, time.Time) bool{c.waitingClasses, c.waitingActors, c.waitingToRetry, c.waitingForArguments} {
		again = look(&l, now) || again
	}
	return c.Watch.Report(&l, now), again
}

// waitingClasses adds the classes whose queues have not moved for long. Some: there are queues with tasks.
func (c *Submitter) waitingClasses(l *waiting.List, _ time.Time) (some bool) {
	for _, k := range c.Classes {
		if k.Queue.Len() == 0 || k.Bad != nil {
			continue
		}
		some = true
		if c.Long(k.Since) && !k.Runs() {
			l.Class(k.ID, k.Name, k.Queue.Len())
		}
	}
	return some
}

// waitingActors adds the actors whose calls cannot be sent for long. Some: there are such actors, for however long.
func (c *Submitter) waitingActors(l *waiting.List, _ time.Time) (some bool) {
	for _, a := range c.Actors {
		if a.Channel != nil || a.Dead() != nil || a.Infeasible() != nil || a.Queue.Len() == 0 {
			a.stuck = false
			continue
		}
		some = true
		if a.waits(c.Looks); c.Long(a.since) {
			l.Actor(a.ID[:], a.Name())
		}
	}
	return some
}

// waitingToRetry adds the tasks that have had a delay for so long that the user should be told. Some: there are
// tasks with a delay, for however long.
func (c *Submitter) waitingToRetry(l *waiting.List, now time.Time) (some bool) {
	for t, d := range c.Delayed {
		if now.Sub(d.since) >= waiting.After-waiting.Pause {
			l.Retry(t.Template.Name, func() string { return "it is " + d.describe(now) })
		}
	}
	return len(c.Delayed) > 0
}

// waitingForArguments adds the tasks that have waited for their arguments for long. Some: there are tasks that
// wait for arguments, for however long.
func (c *Submitter) waitingForArguments(l *waiting.List, _ time.Time) (some bool) {
	c.table.Each(func(o *refs.Object) bool {
		t := TaskOf(o.Source())
		if t == nil || t.Waiting == 0 || o.ID.Index() != 1 || o.State() != refs.Pending {
			return true
		}
		some = true
		if !c.Long(t.Since) {
			return true
		}
		late := slices.IndexFunc(t.Dependencies(), func(d *refs.Object) bool { return !d.State().Ready() && !c.isComing(d) })
		if late >= 0 {
			l.Argument(t.Template.Name, func() string { return "argument " + c.describe(t.Dependencies()[late]) })
		}
		return true
	})
	return some
}

// isComing reports whether an object that is not ready is being computed, so that nothing is wrong with a task that
// waits for it. An object whose task waits for an argument counts, too: the report about that argument says why.
func (c *Submitter) isComing(o *refs.Object) bool {
	t := TaskOf(o.Source())
	switch {
	case t == nil || !o.Owned() || c.Delayed[t] != nil:
		return false
	case t.on != nil:
		return t.on.Lease == nil || !t.on.Lease.Blocked
	case t.Waiting > 0:
		return true
	case t.actor != nil:
		return t.actor.Channel != nil
	}
	return t.Template.Class.Runs()
}

// waits notes that calls of the actor cannot be sent, and since which look.
func (a *Actor) waits(look uint32) {
	if !a.stuck {
		a.stuck, a.since = true, look
	}
}

// describe says what an object that is not ready waits for.
func (c *Submitter) describe(o *refs.Object) string {
	t := TaskOf(o.Source())
	switch {
	case !o.Owned():
		return fmt.Sprintf("%s is not ready; the process at %s owns it", o.ID, o.OwnerAddr())
	case t == nil:
		return fmt.Sprintf("%s is not ready", o.ID)
	case c.Delayed[t] != nil:
		return fmt.Sprintf("%s is computed by %s, which is %s", o.ID, t.Template.Name, c.Delayed[t].describe(time.Now()))
	case t.on != nil:
		return fmt.Sprintf("%s is computed by %s, which runs", o.ID, t.Template.Name)
	case t.Waiting > 0:
		return fmt.Sprintf("%s is computed by %s, which waits for an argument, too", o.ID, t.Template.Name)
	}
	return fmt.Sprintf("%s is computed by %s, which has not started", o.ID, t.Template.Name)
}

// describe says what the task waits for.
func (d *Delay) describe(now time.Time) string {
	return fmt.Sprintf("tried again in %v: %s", max(0, d.until.Sub(now)).Round(100*time.Millisecond), d.why)
}
