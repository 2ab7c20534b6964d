package execute

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/frame"
)

// A task that runs for longer than other tasks of its function holds up the tasks behind
// it. These go back to their callers, which may send them to other workers.
const (
	// GiveBackAfter is how long a task runs at least before the tasks behind it go back.
	GiveBackAfter = 4 * time.Millisecond
	// giveBackAtMost is how long it runs at most, however long its like run.
	giveBackAtMost = 40 * time.Millisecond
)

// giveBack gives calls that have not begun back to their caller.
func (c *Caller) giveBack(list []*Call) {
	b, at := frame.BeginReturned(c.pipe.Buffer(), len(list))
	for _, k := range list {
		k.taken = true
		b = frame.AppendSeq(b, k.seq)
		delete(c.feeds, k.seq)
	}
	c.pipe.Queue(frame.End(b, at))
	c.pipe.Flush()
}

// giveBackAll gives back every task that has not begun.
func (w *Worker) giveBackAll() {
	l := &w.main
	back := map[*Caller][]*Call{}
	var order []*Caller
	keep := l.queue[:0]
	for _, k := range l.queue {
		switch c := k.Caller; {
		case k.taken:
		case c != nil && c.leased && k.Tmpl != nil && !c.pipe.Closed():
			if back[c] == nil {
				order = append(order, c)
			}
			back[c] = append(back[c], k)
		default:
			keep = append(keep, k)
		}
	}
	clear(l.queue[len(keep):])
	l.queue = keep
	for _, c := range order {
		c.giveBack(back[c])
	}
}

// patience returns how long a task runs before the tasks behind it go back: twice as
// long as tasks of its function mostly run, within bounds.
func (w *Worker) patience() time.Duration {
	if w.last == nil {
		return GiveBackAfter
	}
	return max(GiveBackAfter, min(2*w.last.usual, giveBackAtMost))
}

// late reports whether the running task has taken longer than that.
func (w *Worker) late() bool {
	return w.calls.len() > 0 && time.Since(w.started) > w.patience()
}

// GiveOverdueBack gives back the tasks that wait behind a task that takes long.
func (w *Worker) GiveOverdueBack() {
	if len(w.main.queue) > 0 && w.late() {
		w.giveBackAll()
	}
}

// LookAgain shortens the time until the session looks again to when the calls
// behind a long one are due to go back, and a little later.
func (w *Worker) LookAgain(most time.Duration) time.Duration {
	due := most
	if w.calls.len() > 0 && len(w.main.queue) > 0 {
		due = max(0, w.patience()-time.Since(w.started))
	}
	return min(most, due+time.Millisecond)
}

// Undisturbed returns for how long no thread has to look at the sockets, because the
// program computes a call that may soon be over. Rests says that not even the
// background poller has to watch them: calls like the running one take so long
// that no answer waits for another.
func (w *Worker) Undisturbed() (left time.Duration, rests bool) {
	if w.calls.len() == 0 || w.unread {
		return 0, false
	}
	left = w.patience() - time.Since(w.started)
	return left, left > GiveBackAfter/2 && w.answersAtOnce()
}

// answersAtOnce reports whether tasks like the running one take so long that no
// answer waits for another.
func (w *Worker) answersAtOnce() bool { return w.last != nil && w.last.usual > shareFor }

// typical is a running mean in which no single measurement counts for much, as a
// caller's measure of how long its tasks run (core/internal/pace).
func typical(mean, now time.Duration) time.Duration {
	const outlier = 4 // bounds what one measurement counts for: so many times the mean
	if mean == 0 {
		return now
	}
	return mean + (min(now, outlier*mean)-mean)/8
}
