package client

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/trace"
)

// readChunk is how much is read at a time, bytes.
const readChunk = 128 << 10

// socket is a task socket on the poller.
type socket interface {
	base() *conn
	// frames handles what was read, under Client.mu; it returns the bytes consumed.
	frames(b []byte) (int, error)
	// gone is called once, under Client.mu, when the peer left.
	gone(err error)
}

// conn is what both directions share: descriptor and buffers.
type conn struct {
	c       *Client
	fd      int
	self    socket
	in      []byte // the leader's
	have    int
	out     []byte
	dirty   bool // on Client.dirty
	stuck   bool // the socket is full; EPOLLOUT is armed
	dead    bool
	held    bool // not read: see backlog.go
	flushed time.Time
	eased   func() // called once when everything is sent
}

func (k *conn) base() *conn { return k }

// waiter is one thread's wait: for objects, or for work.
type waiter struct {
	need     int  // how many more objects have to be ready
	open     int  // objects that still can become ready
	failFast bool // an exception or a hopeless one ends the wait
	done     bool
	gaveUp   bool          // its context has ended, and that ended the wait
	wake     chan struct{} // cap 1
	notify   func()        // asynchronous waits: called instead of waking a thread
	number   uint32        // on the objects, see stamp.go; 0: none
	beside   []*own.Object // that had another wait's number
}

func newWaiter() *waiter { return &waiter{wake: make(chan struct{}, 1)} }

// finish ends the wait; under mu.
func (c *Client) finish(w *waiter) {
	if w.done {
		return
	}
	w.done = true
	switch {
	case w.notify != nil:
		w.notify()
	case c.leader == w:
		c.kick()
	default:
		w.signal()
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// kick makes the leader return from its poll.
func (c *Client) kick() {
	if c.polling && !c.kicked {
		c.kicked = true
		one := [8]byte{1}
		_, _ = unix.Write(c.wakeFD, one[:]) // full means: already awake
	}
}

// await blocks until w is done or the deadline passes (zero: no deadline).
// It is entered and left with mu held.
func (c *Client) await(w *waiter, deadline time.Time) {
	for !w.done && !c.closed {
		var left time.Duration = -1
		if !deadline.IsZero() {
			if left = time.Until(deadline); left <= 0 {
				break
			}
		}
		if c.leader == nil {
			c.lead(w, deadline)
			continue
		}
		c.followers = append(c.followers, w)
		c.mu.Unlock()
		w.wait(left)
		c.mu.Lock()
		for i, f := range c.followers {
			if f == w {
				c.followers = append(c.followers[:i], c.followers[i+1:]...)
				break
			}
		}
	}
	c.promote()
}

func (w *waiter) wait(left time.Duration) {
	if left < 0 {
		<-w.wake
		return
	}
	t := time.NewTimer(left)
	select {
	case <-w.wake:
	case <-t.C:
	}
	t.Stop()
}

// promote wakes a follower when nobody leads.
func (c *Client) promote() {
	if c.leader == nil && len(c.followers) > 0 {
		c.followers[0].signal()
	}
}

// lead reads for everybody until w is done or its deadline; mu held on entry and exit.
func (c *Client) lead(w *waiter, deadline time.Time) {
	c.leader = w
	for !w.done && !c.closed {
		c.takeDrops()
		c.flushDirty()
		if w.done { // a socket that could not be written to has failed what it waits for
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
		if w.need >= dozeFrom {
			c.doze(timeout)
		}
		c.poll(timeout)
	}
	c.leader = nil
	c.leftAt = time.Now()
	c.bury()
	if c.outstanding() {
		c.arm()
	}
}

// outstanding reports whether anything may arrive that nobody reads.
func (c *Client) outstanding() bool {
	return c.exec != nil && c.exec.unread || c.inflight > 0 || len(c.doomed) > 0 || len(c.dirty) > 0 || c.exec != nil && c.exec.busy > 0
}

// poll waits for sockets and handles what they bring; mu held on entry and
// exit, released while waiting and reading. It reports whether they brought anything.
func (c *Client) poll(timeoutMs int) bool {
	if len(c.doomed) > 0 {
		// That may end what the caller waits for: it looks before it sleeps.
		c.bringDown()
		timeoutMs = 0
	}
	all := c.exec != nil && c.exec.unread && !c.exec.backlog.full
	if all {
		timeoutMs = 0
	}
	w := c.plan(timeoutMs)
	c.polling = true
	c.mu.Unlock()
	began := trace.Now()
	n, err := c.sit(&w)
	c.stampPoll(began)
	c.mu.Lock()
	c.polling = false
	c.waited(&w, n)
	if err != nil {
		if !errors.Is(err, unix.EINTR) {
			c.fail(err)
			return false
		}
		c.interrupted()
	}
	found := false
	for i := range max(n, 0) {
		ev := c.events[i]
		if int(ev.Fd) == c.wakeFD {
			var b [8]byte
			_, _ = unix.Read(c.wakeFD, b[:])
			c.kicked = false
			continue
		}
		found = true
		s := c.sockets[int(ev.Fd)]
		if s == nil {
			if c.loop.on && int(ev.Fd) == c.loop.fd {
				c.fire()
			}
			continue
		}
		k := s.base()
		if ev.Events&unix.EPOLLOUT != 0 {
			c.unstick(k)
		}
		c.hungUp(k, ev.Events)
		if ev.Events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
			c.drain(s, k)
		}
	}
	c.bringDown()
	c.bury()
	if all && n < len(c.events) {
		c.exec.allRead()
	}
	if c.exec != nil {
		c.exec.bounceOverdue()
	}
	return found
}

// doom takes off the socket of a process that is known to be dead, once the
// leader has read what it had sent. The end of the stream need not show: a
// child of that process may hold the socket open; mu held.
func (c *Client) doom(k *conn) {
	c.doomed = append(c.doomed, k)
	if c.leader == nil {
		c.arm()
	} else {
		c.kick()
	}
}

// bringDown does that; the leader's.
func (c *Client) bringDown() {
	for len(c.doomed) > 0 {
		k := c.doomed[0]
		c.doomed = c.doomed[1:]
		c.drain(k.self, k)
		c.lose(k.self, k, errPeerLeft)
	}
}

// drain reads what the socket has and handles its frames; mu held on entry and exit.
func (c *Client) drain(s socket, k *conn) {
	for !k.dead && !k.held {
		if len(k.in)-k.have < readChunk/2 {
			k.grow()
		}
		c.mu.Unlock()
		began := trace.Now()
		n, err := unix.Read(k.fd, k.in[k.have:])
		k.stampSpan(trace.Read, began, n)
		c.mu.Lock()
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case err != nil || n == 0:
			if err == nil {
				err = errPeerLeft
			}
			c.lose(s, k, err)
			return
		}
		full := k.have+n == len(k.in)
		k.have += n
		used, err := s.frames(k.in[:k.have])
		if err != nil {
			c.lose(s, k, err)
			return
		}
		k.have = copy(k.in, k.in[used:k.have])
		if !full {
			return
		}
	}
}

func (k *conn) grow() {
	b := make([]byte, max(readChunk, 2*len(k.in)))
	copy(b, k.in[:k.have])
	k.in = b
}

// lose takes the socket off the poller and tells its owner.
func (c *Client) lose(s socket, k *conn, err error) {
	if k.dead {
		return
	}
	c.retire(k)
	s.gone(err)
}

// retire takes the socket off; the descriptor is closed by the leader.
func (c *Client) retire(k *conn) {
	if k.dead {
		return
	}
	k.dead = true
	_ = unix.EpollCtl(c.epoll, unix.EPOLL_CTL_DEL, k.fd, nil)
	delete(c.sockets, k.fd)
	c.graves = append(c.graves, k.fd)
	if c.leader == nil {
		c.bury()
	}
}

// bury closes the descriptors of retired sockets.
func (c *Client) bury() {
	for _, fd := range c.graves {
		c.closing(fd)
		unix.Close(fd)
	}
	c.graves = c.graves[:0]
}

// adopt puts a socket on the poller.
func (c *Client) adopt(s socket) error {
	k := s.base()
	k.self = s
	if err := unix.SetNonblock(k.fd, true); err != nil {
		return err
	}
	c.sockets[k.fd] = s
	c.opened(k.fd)
	return unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, k.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(k.fd)})
}

// touch marks the socket as having unsent bytes.
func (c *Client) touch(k *conn) {
	c.soil(k)
	if c.leader == nil || c.leader == c.background || c.polling { // else the leader sends it before it polls, or arms when it leaves
		c.arm()
	}
}

// soil is touch by who sees to it that the bytes leave.
func (c *Client) soil(k *conn) {
	if !k.dirty && !k.dead {
		k.dirty = true
		c.dirty = append(c.dirty, k)
	}
}

// cleaned takes the socket off the list when it is the only one there and all is sent.
func (c *Client) cleaned(k *conn) {
	if len(c.dirty) == 1 && c.dirty[0] == k && len(k.out) == 0 {
		k.dirty = false
		c.dirty = c.dirty[:0]
	}
}

// flushDirty sends what sockets have collected.
func (c *Client) flushDirty() {
	if len(c.dirty) == 0 {
		return
	}
	for _, k := range c.dirty {
		k.dirty = false
		c.flush(k)
	}
	c.dirty = c.dirty[:0]
}

// flush sends without blocking; what does not fit stays until the socket is writable.
func (c *Client) flush(k *conn) {
	if k.stuck || k.dead {
		return
	}
	for sent := 0; ; {
		if sent == len(k.out) {
			k.out = k.out[:0]
			if cap(k.out) > 1<<20 {
				k.out = nil
			}
			if k.eased != nil {
				f := k.eased
				k.eased = nil
				f()
			}
			return
		}
		began := trace.Now()
		n, err := unix.Write(k.fd, k.out[sent:])
		k.stampSpan(trace.Wrote, began, n)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			k.out = append(k.out[:0], k.out[sent:]...)
			k.stuck = true
			c.interest(k)
			return
		case err != nil:
			k.out = k.out[:0] // the reader will see the end and tell
			return
		default:
			sent += n
		}
	}
}

func (c *Client) unstick(k *conn) {
	k.stuck = false
	c.interest(k)
	c.flush(k)
}

func (c *Client) interest(k *conn) {
	ev := uint32(unix.EPOLLIN)
	if k.held {
		ev = 0
	}
	if k.stuck {
		ev |= unix.EPOLLOUT
	}
	_ = unix.EpollCtl(c.epoll, unix.EPOLL_CTL_MOD, k.fd, &unix.EpollEvent{Events: ev, Fd: int32(k.fd)})
	c.arm()
}
