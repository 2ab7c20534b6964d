package client

import "time"

// A task of a class with a time to wait for its first choice (fallback_after)
// is due when it has waited for so long: from then on an alternative may serve
// it, too. The wait begins when the task is first ready to run.
//
// This process alone measures the wait, because it alone knows which task
// waits: wants and grants are numbers and cross on the way. It tells the daemon
// how many of its wants are due, tells it again when one more is, and does not
// use an alternative's lease for a task that is not due. Such a lease comes when
// the task that it was meant for has found another worker meanwhile; it goes
// back, and the want is stated anew.

// clockStart is the zero of clockMs.
var clockStart = time.Now()

// clockMs is the time in the unit of task.since, which begins anew after 49 days.
func clockMs(now time.Time) uint32 { return uint32(now.Sub(clockStart).Milliseconds()) }

// left returns how many milliseconds pass until the task is due, 0 if it is.
func (t *task) left(now uint32, after int64) int64 {
	// A task may have begun to wait anywhere within its first millisecond.
	return max(0, after+1-int64(now-t.since))
}

// countDue returns how many of the first tasks of the queue, up to most, are
// due, and after how many milliseconds one more will be (0: there is none). It
// sets the alarm for that; mu held.
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

// early reports whether the lease, of an alternative, came for a task that no
// longer waits: the next one is not due.
func (l *lease) early() bool {
	k := l.class
	return !l.never && k.queue.len() > 0 && k.queue.first().left(clockMs(time.Now()), k.after) > 0
}
