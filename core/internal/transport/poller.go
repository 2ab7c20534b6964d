package transport

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/trace"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// Host is the process whose sockets are polled.
type Host interface {
	// BeforePoll is called before what has collected is sent.
	BeforePoll()
	// Unanswered is how many calls were sent and have no answer yet, and how many of them went to processes of
	// other nodes.
	Unanswered() (all, far int)
	// Serving reports whether the process runs a call that somebody sent it, or
	// has to read more before it may end: then somebody has to read.
	Serving() bool
	// ReadsAll reports whether the process is about to end and has to read
	// everything that has arrived. AllRead is called when that was read.
	ReadsAll() bool
	AllRead()
	// Polled is called after each poll.
	Polled()
	// MayCoalesce reports whether everybody who computes for this process has
	// enough to do, so that their answers need not be read at once.
	MayCoalesce() bool
	// Undisturbed is for how long the sockets need not be looked at because the
	// process computes a call that may soon be over. Rests says that the
	// background poller need not even watch them.
	Undisturbed() (left time.Duration, rests bool)
	// LookAgain shortens the time until the background poller looks again, for
	// a process that has to act on a call that takes long.
	LookAgain(most time.Duration) time.Duration
	// Failed is called when the sockets cannot be polled at all.
	Failed(err error)
}

// Poller reads and writes the sockets of one process.
type Poller struct {
	sockets
	host      Host
	watched   map[int]func() // other descriptors, see WatchOnce
	followers []*wait.Wait
	coalescer
	leftAt   time.Time // when a thread led last
	loopedAt time.Time // when an event loop began to wait last
}

// Closed returns a connection of a poller that nothing can be sent to.
func Closed(p *Poller) Conn { return Conn{s: &p.sockets, fd: -1, closed: true} }

// Finish ends a wait: the wait's thread wakes up, or the wait's function is called.
func (p *Poller) Finish(w *wait.Wait) {
	if !w.End() {
		return
	}
	switch {
	case w.Call():
	case p.leader == w:
		p.Kick()
	default:
		w.Wake()
	}
}

// Await blocks until w is over or the deadline passes; a zero deadline is none.
// The mutex is released meanwhile.
func (p *Poller) Await(w *wait.Wait, deadline time.Time) {
	defer p.promote() // also when a handler panics: the others' waits go on
	for !w.Over() && !p.ended {
		var left time.Duration = -1
		if !deadline.IsZero() {
			if left = time.Until(deadline); left <= 0 {
				break
			}
		}
		if p.leader == nil {
			p.lead(w, deadline)
			continue
		}
		p.follow(w, left)
	}
}

// follow sleeps until w is over, its thread is to lead, or the time has passed.
func (p *Poller) follow(w *wait.Wait, left time.Duration) {
	p.followers = append(p.followers, w)
	defer p.unfollow(w)
	p.sleepBehind(w, left)
}

func (p *Poller) unfollow(w *wait.Wait) {
	for i, f := range p.followers {
		if f == w {
			p.followers = append(p.followers[:i], p.followers[i+1:]...)
			return
		}
	}
}

// sleepBehind sleeps while another thread leads. The mutex is released meanwhile.
func (p *Poller) sleepBehind(w *wait.Wait, left time.Duration) {
	p.mu.Unlock()
	defer p.mu.Lock()
	w.Sleep(left)
}

// promote wakes a follower when nobody leads.
func (p *Poller) promote() {
	if p.leader == nil && len(p.followers) > 0 {
		p.followers[0].Wake()
	}
}

// lead reads for everybody until w is over or its deadline passes.
func (p *Poller) lead(w *wait.Wait, deadline time.Time) {
	p.leader = w
	defer p.stopLeading()
	for !w.Over() && !p.ended {
		p.host.BeforePoll()
		p.SendAll()
		if w.Over() { // a socket that could not be written to has ended it
			break
		}
		timeout := -1
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				break
			}
			timeout = int((left + time.Millisecond - 1) / time.Millisecond)
		}
		if w.Missing() >= coalesceFrom {
			p.coalesce(timeout)
		}
		p.poll(timeout)
	}
}

// stopLeading gives up the lead, so that another thread can read the sockets.
func (p *Poller) stopLeading() {
	p.nobodyLeads()
	p.leftAt = time.Now()
	p.closeRetired()
	if p.expecting() {
		p.Arm()
	}
}

// nobodyLeads notes that the leader has left.
func (p *Poller) nobodyLeads() {
	p.leader, p.polling = nil, false
	p.left.Broadcast()
}

// coalesce lets answers collect; the leader calls it. The mutex is released
// meanwhile. It ends early like a poll does, except for what the sockets bring.
func (p *Poller) coalesce(timeoutMs int) {
	now := time.Now()
	left := p.pause(now, timeoutMs)
	if left <= 0 || len(p.followers) > 0 || !p.host.MayCoalesce() {
		p.lookedAt = now
		return
	}
	p.polling = true
	err := p.collect(left)
	p.polling = false
	if err == unix.EINTR {
		p.interrupted()
	}
	p.lookedAt = time.Now()
}

// collect sleeps while answers collect. The mutex is released meanwhile.
func (p *Poller) collect(limit time.Duration) error {
	p.mu.Unlock()
	defer p.mu.Lock()
	return sleepUntilKicked(p.bell, limit)
}

// Glance handles what the sockets have now, unless somebody reads them anyway.
func (p *Poller) Glance() {
	if p.leader != nil || p.ended {
		return
	}
	p.leader = p.nobody
	defer p.promote()
	defer p.stopLeading()
	p.poll(0)
}

// expecting reports whether anything may arrive while no thread reads.
func (p *Poller) expecting() bool {
	all, _ := p.host.Unanswered()
	return all > 0 || len(p.ending) > 0 || len(p.unsent) > 0 || p.host.Serving()
}

// poll waits for the sockets and handles what they bring; the leader calls it.
// The mutex is released while waiting and reading. It reports whether anything came.
func (p *Poller) poll(timeoutMs int) bool {
	if len(p.ending) > 0 {
		// That may end what the leader waits for, so it looks before it sleeps.
		p.closeEnding()
		timeoutMs = 0
	}
	all := p.host.ReadsAll()
	if all {
		timeoutMs = 0
	}
	s := p.plan(timeoutMs, timeoutMs != 0 && p.mayLook(), p.leader != nil && p.leader.Signals)
	p.polling = true
	n, err := p.await(&s)
	p.polling = false
	if p.slept(&s, n) && p.leader != nil {
		p.leader.EndEarly()
		p.Finish(p.leader)
	}
	if err != nil {
		if !errors.Is(err, unix.EINTR) {
			p.host.Failed(fmt.Errorf("poll the task sockets: %w", err))
			return false
		}
		p.interrupted()
	}
	found := p.handle(p.events[:max(n, 0)])
	p.closeEnding()
	p.closeRetired()
	if all && n < len(p.events) {
		p.host.AllRead()
	}
	p.host.Polled()
	return found
}

// await sleeps until a socket has something. The mutex is released meanwhile,
// without a defer: every wait comes this way, and no handler runs here.
func (p *Poller) await(s *sleep) (n int, err error) {
	p.mu.Unlock()
	began := trace.Now()
	n, err = p.sleep(s)
	if trace.On {
		trace.Span(trace.Polled, began, p.epoll, 0)
	}
	p.mu.Lock()
	return n, err
}

// mayLook reports whether a wait may begin with looking: with one processor nobody
// could answer meanwhile, and with many calls under way the next answer is near. Calls to
// other nodes take longer than a wake-up: a wait for nothing else sleeps at once, and the others
// are as without them.
func (p *Poller) mayLook() bool {
	all, far := p.host.Unanswered()
	return cpus > 1 && all-far <= spinCalls && (far == 0 || all > far)
}

// handle handles epoll's events, and reports whether there were others than the bell.
func (p *Poller) handle(events []unix.EpollEvent) (found bool) {
	for i := range events {
		ev := events[i]
		if int(ev.Fd) == p.bell {
			var b [8]byte
			_, _ = unix.Read(p.bell, b[:])
			p.kicked = false
			continue
		}
		found = true
		k := p.conns[int(ev.Fd)]
		if k == nil {
			if f := p.watched[int(ev.Fd)]; f != nil {
				f()
			}
			continue
		}
		if ev.Events&unix.EPOLLOUT != 0 {
			k.unblock()
		}
		if ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			k.paused = false // the end of the stream stands behind what was left unread
		}
		if ev.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			k.read()
		}
	}
	return found
}

// interrupted ends the leader's wait if a signal came for its thread.
func (p *Poller) interrupted() {
	if p.leader != nil && p.leader.Signals {
		p.Finish(p.leader)
	}
}

// watchEvents is armed once at a time: while the event loop is busy another
// thread may lead, which would find the descriptor readable over and over.
const watchEvents = unix.EPOLLIN | unix.EPOLLONESHOT

// WatchOnce calls f when the descriptor is readable, once. The descriptor stays
// the caller's.
func (p *Poller) WatchOnce(fd int, f func()) error {
	if p.watched == nil {
		p.watched = map[int]func(){}
	}
	p.watched[fd] = f
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: watchEvents, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("watch descriptor %d: %w", fd, err)
	}
	return nil
}

// WatchAgain arms WatchOnce once more.
func (p *Poller) WatchAgain(fd int) {
	_ = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: watchEvents, Fd: int32(fd)}) // it fails only when the owner has closed it
}

// End ends all waits. Nothing is read or sent from now on.
func (p *Poller) End() {
	p.ended = true
	for _, f := range p.followers {
		f.Wake()
	}
	p.Kick()
}

// Close closes all connections and the poller's own descriptors. Nobody leads,
// and the background poller was stopped.
func (p *Poller) Close() {
	p.CloseConnections()
	for _, fd := range []*int{&p.epoll, &p.bell} {
		was := *fd
		p.told.closing(fd)
		unix.Close(was) // -1 is refused
	}
}

// Counts says how much a poller holds.
type Counts struct {
	Connections int
	Unsent      int // connections with bytes that were not sent
	Ending      int // connections whose process is known to be dead
	Retired     int // descriptors that are to be closed
}

// Counts returns how much the poller holds.
func (p *Poller) Counts() Counts {
	return Counts{Connections: len(p.conns), Unsent: len(p.unsent), Ending: len(p.ending), Retired: len(p.retired)}
}
