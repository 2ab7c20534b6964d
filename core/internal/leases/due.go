package leases

import (
	"time"
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

// clockStart is the zero of Ms.
var clockStart = time.Now()

// Ms returns the time in milliseconds, as Host.ReadyMs does. It begins anew after 49 days.
func Ms(now time.Time) uint32 { return uint32(now.Sub(clockStart).Milliseconds()) }

// left returns how many milliseconds pass until a task is due that waits since then, 0 if it is due.
func left(since, now uint32, after int64) int64 {
	// A task may have begun to wait anywhere within its first millisecond.
	return max(0, after+1-int64(now-since))
}

// early reports whether the lease of an alternative came for a task that does not
// wait any more: the next task is not due.
func (p *Pool[T, C]) early(l *Lease[T, C]) bool {
	k := l.Class
	return !l.never && k.Queue.Len() > 0 && left(p.host.ReadyMs(k.Queue.First()), Ms(time.Now()), k.after) > 0
}

// once reports whether the lease was given because the first choice did not come in time.
func (l *Lease[T, C]) once() bool { return l.Choice > 0 && l.Class.after > 0 }

// before reports whether a task should go to l rather than to o: to the lease that
// has less to do, else to the one with the better choice.
func (l *Lease[T, C]) before(o *Lease[T, C]) bool {
	return l.Busy < o.Busy || l.Busy == o.Busy && l.Choice < o.Choice
}

// countDue returns how many of the first tasks of the queue, up to most, are
// due, and after how many milliseconds one more will be (0: there is none). It
// sets the alarm for that.
func (p *Pool[T, C]) countDue(k *Class[T, C], most int) (due int, next int64) {
	now := Ms(time.Now())
	k.Queue.While(func(t *T) bool {
		if due == most {
			return false
		}
		if next = left(p.host.ReadyMs(t), now, k.after); next > 0 {
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
		k.alarm = p.host.After(wait, func() { p.moreDue(k) })
	default:
		k.alarm.Reset(wait)
	}
	return due, next
}

// moreDue is the alarm: the daemon hears that one more task is due.
func (p *Pool[T, C]) moreDue(k *Class[T, C]) {
	if k.Bad == nil {
		p.AdjustWant(k)
	}
}
