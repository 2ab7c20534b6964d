package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/wire"
)

// A class may have alternatives: other resources for its tasks, for when the
// class's own resources are not free. The daemon chooses for each lease. The
// choice of a lease is 0 for the class's own resources, else the number of the
// alternative. When a task is sent it becomes what the lease's choice says, and
// when it is sent again it chooses anew.
//
// Two rules keep the order of preference. First, a lease goes back as soon as it
// has nothing to do if a better choice may come free, so that the next task asks
// the daemon again. Second, a class may say for how long a task waits for the
// first choice alone (fallback_after). The task is due when it has waited for so
// long since it was first ready to run. Only a task that is due may be served by
// an alternative, and the alternative's lease serves one task.
//
// Only this process knows which task waits, so it alone measures that time:
// wants and grants are numbers, and cross on the way. It tells the daemon how many
// of its wants are due, and tells it again when one more is. An alternative's
// lease may come when the task that it was meant for has found another worker
// meanwhile. Then it goes back, and the want is told again.

// clockStart is the zero of clockMs.
var clockStart = time.Now()

// clockMs returns the time in the unit of task.since, which begins anew after 49 days.
func clockMs(now time.Time) uint32 { return uint32(now.Sub(clockStart).Milliseconds()) }

// left returns how many milliseconds pass until the task is due, 0 if it is due.
func (t *task) left(now uint32, after int64) int64 {
	// A task may have begun to wait anywhere within its first millisecond.
	return max(0, after+1-int64(now-t.since))
}

// countDue returns how many of the first tasks of the queue, up to most, are
// due, and after how many milliseconds one more will be (0: there is none). It
// sets the alarm for that.
func (c *submitter) countDue(k *class, most int) (due int, next int64) {
	now := clockMs(time.Now())
	k.queue.eachWhile(func(t *task) bool {
		if due == most {
			return false
		}
		if next = t.left(now, k.after); next > 0 {
			return false
		}
		due++
		return true
	})
	switch wait := time.Duration(min(next, int64(time.Hour/time.Millisecond))) * time.Millisecond; {
	case next == 0 && k.alarm != nil:
		k.alarm.Stop()
	case next == 0:
	case k.alarm == nil:
		k.alarm = c.fx.After(wait, func() { c.moreDue(k) })
	default:
		k.alarm.Reset(wait)
	}
	return due, next
}

// moreDue is the alarm: the daemon hears that one more task is due.
func (c *submitter) moreDue(k *class) {
	if k.bad == nil {
		c.adjustWant(k)
	}
}

// early reports whether the lease of an alternative came for a task that does not
// wait any more: the next task is not due.
func (l *lease) early() bool {
	k := l.class
	return !l.never && k.queue.len() > 0 && k.queue.first().left(clockMs(time.Now()), k.after) > 0
}

// once reports whether the lease was given because the first choice did not come in time.
func (l *lease) once() bool { return l.choice > 0 && l.class.after > 0 }

// before reports whether a task should go to l rather than to o: to the lease that
// has less to do, else to the one with the better choice.
func (l *lease) before(o *lease) bool {
	return l.busy < o.busy || l.busy == o.busy && l.choice < o.choice
}

// addFallback completes and registers the templates of a template's alternatives.
func (c *submitter) addFallback(t *Template) error {
	if len(t.Fallback) > wire.MaxAlternatives {
		return fault.New(fault.BadRequest, "task %s: fallback has %d alternatives, at most %d are allowed", t.Name, len(t.Fallback), wire.MaxAlternatives)
	}
	for i, o := range t.Fallback {
		x := *o
		x.Kind, x.Returns, x.MaxRetries, x.RetryErrs, x.EnvKey, x.Strategy, x.Flow = t.Kind, t.Returns, t.MaxRetries, t.RetryErrs, t.EnvKey, t.Strategy, t.Flow
		if len(x.FID) == 0 {
			x.FID, x.Blob = t.FID, t.Blob
		}
		if x.Name == "" {
			x.Name = t.Name
		}
		x.Fallback = nil
		x.id, x.maker = c.newID(&x), t.maker
		x.intern()
		t.Fallback[i] = &x
	}
	return nil
}

// as returns the template that a task has in a choice.
func (t *Template) as(choice int) *Template {
	if choice == 0 {
		return t
	}
	return t.Fallback[choice-1]
}

// returnIdleOfOthers gives leases without work back, except those of one class, before a want
// with alternatives is told. What this process keeps only for tasks that may come counts as
// free, and the first choice is to be taken when it is free.
func (c *submitter) returnIdleOfOthers(k *class) {
	for _, l := range c.leases {
		if l.idle && l.class != k {
			c.returnLease(l)
		}
	}
}

// makesRoomFor does the same before an actor with alternatives is created.
func (c *submitter) makesRoomFor(req *wire.ActorCreate) {
	if len(req.Fallback) > 0 {
		c.returnIdleOfOthers(nil)
	}
}

// fallbackKey writes the part of a class's key that tells alternatives apart.
func (t *Template) fallbackKey(b *strings.Builder) {
	for _, o := range t.Fallback {
		b.WriteString("|else ")
		resourcesKey(b, o.Resources)
		fmt.Fprintf(b, "|%d|%x", o.MaxCalls, o.FID)
	}
	if t.AfterMs > 0 {
		fmt.Fprintf(b, "|after %d", t.AfterMs)
	}
}

// alternatives returns what the daemon is told of them.
func (t *Template) alternatives() (list []wire.Alternative) {
	for _, o := range t.Fallback {
		list = append(list, wire.Alternative{Resources: o.Resources})
	}
	return list
}
