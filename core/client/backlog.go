package client

// What callers have sent to an actor waits in its process until it is begun.
// When that is much, nothing more is read from callers: it waits at theirs, in
// the sockets and then in their memory. Control messages, cancellations among
// them, have other sockets. Nothing that runs can wait for what was not read:
// it would wait for what is queued, too.
//
// That does not hold for an actor with concurrency groups: what runs in one of
// them may wait for a call of another. There each group has its share of the
// bound, everything is read, and a group whose share is used up has its callers
// keep its calls, and no others, in their memory: see held.go.
const (
	maxBacklog = 64 << 20 // bytes of calls that have not begun
	callBytes  = 400      // of a call beside its frame
)

// backlog is what waits in an actor's process.
type backlog struct {
	bytes int
	most  int  // beyond which callers are not read
	share int  // of each concurrency group, beyond which callers keep its calls; 0: there are no groups
	full  bool // callers are not read
}

// queued notes a call that has arrived; mu held.
func (e *executor) queued(k *call, frame int) {
	if k.in.lease {
		return
	}
	k.size = frame + callBytes
	e.backlog.bytes += k.size
	if e.backlog.share > 0 {
		e.queuedIn(e.laneOf(k), k)
		return
	}
	if k.feed != nil {
		e.read(k.in)
	}
	switch {
	case e.backlog.full:
		e.hold(k.in)
	case e.backlog.bytes > e.backlog.most:
		e.backlog.full = true
		for in := range e.conns {
			e.hold(in)
		}
	}
}

// unqueued notes that a call does not wait any more; mu held.
func (e *executor) unqueued(k *call) {
	e.backlog.bytes -= k.size
	if e.backlog.share > 0 && k.size > 0 {
		e.unqueuedIn(e.laneOf(k), k)
	}
	k.size = 0
	if !e.backlog.full || e.backlog.bytes > e.backlog.most/2 {
		return
	}
	e.backlog.full = false
	for in := range e.conns {
		e.read(in)
	}
	if e.draining {
		e.unread = true // what was held had arrived before the end was asked for
	}
	e.c.poller.Kick()
}

// hold stops reading from a caller. What the caller of a generator tells it
// comes behind its calls, and the generator may wait for that.
func (e *executor) hold(in *inConn) {
	if !in.lease && !in.Paused() && !in.Closed() && len(in.feeds) == 0 {
		in.Pause()
	}
}

// read goes on reading from a caller.
func (e *executor) read(in *inConn) {
	if in.Paused() {
		in.Resume()
	}
}
