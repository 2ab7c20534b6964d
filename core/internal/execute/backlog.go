package execute

import "github.com/eagleray/eagleray/core/internal/frame"

// What callers have sent to an actor waits in its process until it begins. When
// that is much, nothing more is read from callers: their calls wait at their end,
// in the sockets and then in their memory. Control messages, cancellations among
// them, have other sockets. Nothing that runs can wait for what was not read: it
// would wait for what is queued, too.
//
// That does not hold for an actor with concurrency groups: what runs in one group
// may wait for a call of another. There each group has its share of the bound and
// everything is read. A worker tells all its callers when a group has used up its
// share, and when half of that is done; meanwhile callers keep the calls of that
// group, and no others, in their queue.
const (
	maxBacklog = 64 << 20 // bytes of calls that have not begun
	callBytes  = 400      // of a call beside its frame
)

// LimitBacklog changes the bounds of what waits: of an actor without concurrency
// groups, and of each group.
func (w *Worker) LimitBacklog(most, share int) { w.backlog.most, w.backlog.share = most, share }

// Held reports whether callers were told to send no calls of the lane.
func (l *Lane) Held() bool { return l.held }

// queued notes a call that has arrived, whose frame has size bytes.
func (w *Worker) queued(k *Call, size int) {
	if k.Caller.leased {
		return
	}
	k.size = size + callBytes
	w.backlog.bytes += k.size
	if w.backlog.share > 0 {
		w.queuedIn(w.laneOf(k), k)
		return
	}
	if k.feed != nil {
		k.Caller.read()
	}
	switch {
	case w.backlog.full:
		k.Caller.hold()
	case w.backlog.bytes > w.backlog.most:
		w.backlog.full = true
		for _, c := range w.callers {
			c.hold()
		}
	}
}

// unqueued notes that a call does not wait any more.
func (w *Worker) unqueued(k *Call) {
	w.backlog.bytes -= k.size
	if w.backlog.share > 0 && k.size > 0 {
		w.unqueuedIn(w.laneOf(k), k)
	}
	k.size = 0
	if !w.backlog.full || w.backlog.bytes > w.backlog.most/2 {
		return
	}
	w.backlog.full = false
	for _, c := range w.callers {
		c.read()
	}
	if w.draining {
		w.unread = true // what was held had arrived before the end was asked for
	}
	w.do.LookSoon()
}

// hold stops reading from a caller. What the caller of a generator tells it comes
// behind its calls, and the generator may wait for that.
func (c *Caller) hold() {
	if !c.leased && !c.pipe.Paused() && !c.pipe.Closed() && len(c.feeds) == 0 {
		c.pipe.Pause()
	}
}

// read goes on reading from a caller.
func (c *Caller) read() {
	if c.pipe.Paused() {
		c.pipe.Resume()
	}
}

// queuedIn counts a call that has arrived for a lane.
func (w *Worker) queuedIn(l *Lane, k *Call) {
	l.bytes += k.size
	if !l.held && l.bytes > w.backlog.share {
		l.held = true
		w.tellHeld(l)
	}
}

// unqueuedIn counts a call of a lane that waits no more.
func (w *Worker) unqueuedIn(l *Lane, k *Call) {
	l.bytes -= k.size
	if l.held && l.bytes <= w.backlog.share/2 {
		l.held = false
		w.tellHeld(l)
	}
}

func (w *Worker) tellHeld(l *Lane) {
	for _, c := range w.callers {
		c.tellHeld(l)
	}
}

// tellHeld tells a caller whether it may send calls of the lane.
func (c *Caller) tellHeld(l *Lane) {
	if c.leased || c.pipe.Closed() {
		return
	}
	c.pipe.Queue(frame.AppendHold(c.pipe.Buffer(), l.name, l.held))
	c.pipe.SendSoon()
}
