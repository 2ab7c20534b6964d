package transport

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/wait"
)

// errPeerLeft is what a handler is told when the other end has closed.
var errPeerLeft = errors.New("the process at the other end is gone")

// Handler gets what arrives on a connection.
type Handler interface {
	// Frames handles the complete frames at the beginning of b and returns how
	// many bytes they were. An error closes the connection.
	Frames(b []byte) (used int, err error)
	// Gone is called once, when the other end has left or Frames failed.
	Gone(err error)
}

// Host is the process whose sockets are polled.
type Host interface {
	// BeforePoll is called before what has collected is sent.
	BeforePoll()
	// Unanswered is how many calls were sent and have no answer yet.
	Unanswered() int
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

// Options of a Poller.
type Options struct {
	// Descriptor is told of each descriptor that is opened, and before one is
	// closed; nil: nobody wants to know.
	Descriptor func(fd int, open bool)
	// Lend gives the background poller a thread that is not Go's: it calls Turn
	// until that says ModeEnd. Nil, or the answer false: there is none.
	Lend func(*Background) bool
	// Quiet is how long the background poller goes on napping when it was not
	// needed.
	Quiet time.Duration
}

// Poller reads and writes the sockets of one process.
type Poller struct {
	mu    *sync.Mutex // the session's
	host  Host
	o     Options
	epoll int
	bell  int // an eventfd that ends the leader's sleep

	events  [64]unix.EpollEvent
	conns   map[int]*Conn  // by descriptor
	watched map[int]func() // other descriptors, see WatchOnce

	leader    *wait.Wait
	nobody    *wait.Wait // leads in the place of a thread that waits for nothing
	left      *sync.Cond // there is no leader any more
	followers []*wait.Wait
	polling   bool // the leader sleeps, or reads
	kicked    bool // the bell was rung, and nobody has heard it yet
	ended     bool

	unsent  []*Conn // with bytes that were not sent
	ending  []*Conn // to be closed when everything that has arrived on them is read
	retired []int   // descriptors to be closed when nobody reads

	spinner    spinner
	lone       lone
	lookedAt   time.Time // when the sockets were looked at last, see coalesce.go
	leftAt     time.Time // when a thread led last
	loopedAt   time.Time // when an event loop began to wait last
	background *Background
}

// New returns a poller for the process that host is, guarded by mu. The caller
// has to call Close. Mu need not be held.
func New(mu *sync.Mutex, host Host, o Options) (*Poller, error) {
	p := &Poller{
		mu: mu, host: host, o: o, epoll: -1, bell: -1, conns: map[int]*Conn{}, nobody: wait.New(), left: sync.NewCond(mu), spinner: spinner{skips: spinFirst},
	}
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make the poller of task sockets: %w", err)
	}
	if p.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, p.bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p.bell)})
	}
	if err == nil {
		err = p.startBackground()
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("make the poller of task sockets: %w", err)
	}
	p.Opened(p.epoll)
	p.Opened(p.bell)
	return p, nil
}

// Opened tells Options.Descriptor of a descriptor. The mutex need not be held.
func (p *Poller) Opened(fd int) {
	if p.o.Descriptor != nil && fd >= 0 {
		p.o.Descriptor(fd, true)
	}
}

// Closing tells Options.Descriptor that a descriptor is about to be closed. The
// mutex need not be held.
func (p *Poller) Closing(fd int) {
	if p.o.Descriptor != nil && fd >= 0 {
		p.o.Descriptor(fd, false)
	}
}

// Finish ends a wait: its thread wakes up, or its function is called.
func (p *Poller) Finish(w *wait.Wait) {
	if !w.End() {
		return
	}
	switch {
	case w.Call():
	case p.leader == w:
		p.kick()
	default:
		w.Wake()
	}
}

// kick makes the leader return from its sleep.
func (p *Poller) kick() {
	if p.polling && !p.kicked {
		p.kicked = true
		one := [8]byte{1}
		_, _ = unix.Write(p.bell, one[:]) // it is full when it has rung already
	}
}

// Await blocks until w is over or the deadline passes; a zero deadline is none.
// The mutex is released meanwhile.
func (p *Poller) Await(w *wait.Wait, deadline time.Time) {
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
		p.followers = append(p.followers, w)
		p.mu.Unlock()
		w.Sleep(left)
		p.mu.Lock()
		for i, f := range p.followers {
			if f == w {
				p.followers = append(p.followers[:i], p.followers[i+1:]...)
				break
			}
		}
	}
	p.promote()
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
	p.stopLeading()
}

// stopLeading leaves the sockets to others.
func (p *Poller) stopLeading() {
	p.leader = nil
	p.left.Broadcast()
	p.leftAt = time.Now()
	p.closeRetired()
	if p.expecting() {
		p.Arm()
	}
}

// Led reports whether a thread that waits leads: the background poller is none.
func (p *Poller) Led() bool { return p.leader != nil && p.leader != p.nobody }

// Glance handles what the sockets have now, unless somebody reads them anyway.
func (p *Poller) Glance() {
	if p.leader != nil || p.ended {
		return
	}
	p.leader = p.nobody
	p.poll(0)
	p.stopLeading()
	p.promote()
}

// expecting reports whether anything may arrive that nobody reads.
func (p *Poller) expecting() bool {
	return p.host.Unanswered() > 0 || len(p.ending) > 0 || len(p.unsent) > 0 || p.host.Serving()
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
	s := p.plan(timeoutMs)
	p.polling = true
	p.mu.Unlock()
	began := trace.Now()
	n, err := p.sleep(&s)
	if trace.On {
		trace.Span(trace.Polled, began, p.epoll, 0)
	}
	p.mu.Lock()
	p.polling = false
	p.slept(&s, n)
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

// handle sees to what epoll has told, and reports whether it was more than the bell.
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

// LookSoon has the sockets read soon, whoever leads.
func (p *Poller) LookSoon() {
	if p.leader == nil {
		p.Arm()
	} else {
		p.kick()
	}
}

// Kick makes a leader that sleeps look again; there need not be one.
func (p *Poller) Kick() { p.kick() }

// End ends all waits. Nothing is read or sent from now on.
func (p *Poller) End() {
	p.ended = true
	for _, f := range p.followers {
		f.Wake()
	}
	p.kick()
}

// AwaitNoLeader returns when nobody reads any more; End was called before. The
// mutex is released meanwhile.
func (p *Poller) AwaitNoLeader() {
	for p.leader != nil {
		p.kick()
		p.left.Wait()
	}
}

// CloseConnections closes all connections; their handlers are not told. Nobody leads.
func (p *Poller) CloseConnections() {
	for fd, k := range p.conns {
		k.closed = true
		p.Closing(fd)
		unix.Close(fd)
	}
	clear(p.conns)
	p.closeRetired()
}

// Close closes all connections and the poller's own descriptors. Nobody leads,
// and the background poller was stopped.
func (p *Poller) Close() {
	p.CloseConnections()
	for _, fd := range []*int{&p.epoll, &p.bell} {
		if *fd >= 0 {
			p.Closing(*fd)
			unix.Close(*fd)
			*fd = -1
		}
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
