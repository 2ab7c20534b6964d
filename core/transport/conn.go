package transport

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/trace"
)

// ReadChunk is how much is read at a time, bytes.
const ReadChunk = 128 << 10

// keptBuffer is how much memory for bytes to send a connection keeps, bytes.
const keptBuffer = 1 << 20

// Conn is one task socket on a poller. The zero Conn is on none; see Poller.Add.
type Conn struct {
	p       *Poller
	fd      int
	handler Handler

	in   []byte // the leader's
	have int    // bytes of in that were read and not handled
	out  []byte // to be sent

	listed bool // in Poller.unsent
	full   bool // the socket takes no more; the poller tells when it does
	closed bool
	paused bool // nothing is read from it

	whenSent   func()        // called once when everything is sent
	toldWakeup time.Duration // what the other end was told that waking up costs
}

// Closed returns a connection of a poller that nothing can be sent to.
func Closed(p *Poller) Conn { return Conn{p: p, fd: -1, closed: true} }

// Add puts a connected socket on the poller, which closes it in the end. The
// bytes that it has received so far are read at the next poll.
func (p *Poller) Add(k *Conn, fd int, h Handler) error {
	k.p, k.fd, k.handler = p, fd, h
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	p.conns[fd] = k
	p.Opened(fd)
	return unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Restore gives a connection that is about to be added the bytes that another
// process had read from the socket and not handled, or not sent yet.
func (k *Conn) Restore(unread, unsent []byte) { k.in, k.have, k.out = unread, len(unread), unsent }

// FD returns the descriptor.
func (k *Conn) FD() int { return k.fd }

// Closed reports whether the connection is closed: nothing leaves any more.
func (k *Conn) Closed() bool { return k.closed }

// Full reports whether the other end does not read fast enough.
func (k *Conn) Full() bool { return k.full }

// Unread returns what was read and not handled. Nobody leads.
func (k *Conn) Unread() []byte { return k.in[:k.have] }

// Buffer returns the bytes that wait to be sent. The caller appends to them
// and hands the result to Queue.
func (k *Conn) Buffer() []byte { return k.out }

// Queue sets the bytes that wait to be sent.
func (k *Conn) Queue(b []byte) { k.out = b }

// Unsent is how many bytes wait to be sent.
func (k *Conn) Unsent() int { return len(k.out) }

// WhenSent has f called once everything is sent, unless a function waits for
// that already.
func (k *Conn) WhenSent(f func()) {
	if k.whenSent == nil {
		k.whenSent = f
	}
}

// SendSoon has what is queued sent within a millisecond.
func (k *Conn) SendSoon() {
	k.SendLater()
	if p := k.p; p.leader == nil || p.leader == p.nobody || p.polling { // else the leader sends it before it polls, or arms when it leaves
		p.Arm()
	}
}

// SendLater has what is queued sent at the next poll. The caller makes sure
// that one comes.
func (k *Conn) SendLater() {
	if !k.listed && !k.closed {
		k.listed = true
		k.p.unsent = append(k.p.unsent, k)
	}
}

// Sent takes the connection off the list of those with unsent bytes when it is
// the only one there and everything has left.
func (k *Conn) Sent() {
	if p := k.p; len(p.unsent) == 1 && p.unsent[0] == k && len(k.out) == 0 {
		k.listed = false
		p.unsent = p.unsent[:0]
	}
}

// SendAll sends what all connections have queued.
func (p *Poller) SendAll() {
	if len(p.unsent) == 0 {
		return
	}
	for _, k := range p.unsent {
		k.listed = false
		k.Flush()
	}
	p.unsent = p.unsent[:0]
}

// Flush sends without blocking. What does not fit is sent when the socket is
// writable again.
func (k *Conn) Flush() {
	if k.full || k.closed {
		return
	}
	for sent := 0; ; {
		if sent == len(k.out) {
			k.out = k.out[:0]
			if cap(k.out) > keptBuffer {
				k.out = nil
			}
			if f := k.whenSent; f != nil {
				k.whenSent = nil
				f()
			}
			return
		}
		began := trace.Now()
		n, err := unix.Write(k.fd, k.out[sent:])
		k.traced(trace.Wrote, began, n)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			k.out = append(k.out[:0], k.out[sent:]...)
			k.full = true
			k.watch()
			return
		case err != nil:
			k.out = k.out[:0] // the reader will see the end and tell
			return
		default:
			sent += n
		}
	}
}

// unblock goes on sending to a socket that was full.
func (k *Conn) unblock() {
	k.full = false
	k.watch()
	k.Flush()
}

// FlushUntil sends everything, and waits for the other end to read until the
// deadline. The mutex stays held: the process is about to end.
func (k *Conn) FlushUntil(deadline time.Time) {
	for !k.closed && len(k.out) > 0 {
		k.full = false
		k.Flush()
		if len(k.out) == 0 {
			return
		}
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		f := []unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(f, int(left.Milliseconds())+1)
	}
}

// FlushUntil is Conn.FlushUntil of all connections.
func (p *Poller) FlushUntil(deadline time.Time) {
	for _, k := range p.conns {
		k.FlushUntil(deadline)
	}
}

// Pause stops reading from the connection; Resume goes on.
func (k *Conn) Pause() {
	k.paused = true
	k.watch()
}

// Resume goes on reading from the connection.
func (k *Conn) Resume() {
	k.paused = false
	k.watch()
}

// Paused reports whether nothing is read from the connection.
func (k *Conn) Paused() bool { return k.paused }

// watch tells epoll what the connection waits for.
func (k *Conn) watch() {
	ev := uint32(unix.EPOLLIN)
	if k.paused {
		ev = 0
	}
	if k.full {
		ev |= unix.EPOLLOUT
	}
	_ = unix.EpollCtl(k.p.epoll, unix.EPOLL_CTL_MOD, k.fd, &unix.EpollEvent{Events: ev, Fd: int32(k.fd)}) // it fails only for a closed socket
	k.p.Arm()
}

// read reads what the socket has and has it handled; the leader calls it. The
// mutex is released while reading.
func (k *Conn) read() {
	p := k.p
	for !k.closed && !k.paused {
		if len(k.in)-k.have < ReadChunk/2 {
			k.grow()
		}
		p.mu.Unlock()
		began := trace.Now()
		n, err := unix.Read(k.fd, k.in[k.have:])
		k.traced(trace.Read, began, n)
		p.mu.Lock()
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case err != nil || n == 0:
			if err == nil {
				err = errPeerLeft
			}
			k.lose(err)
			return
		}
		full := k.have+n == len(k.in)
		k.have += n
		used, err := k.handler.Frames(k.in[:k.have])
		if err != nil {
			k.lose(err)
			return
		}
		k.have = copy(k.in, k.in[used:k.have])
		if !full {
			return
		}
	}
}

func (k *Conn) grow() {
	b := make([]byte, max(ReadChunk, 2*len(k.in)))
	copy(b, k.in[:k.have])
	k.in = b
}

// lose closes the connection and tells its handler.
func (k *Conn) lose(err error) {
	if k.closed {
		return
	}
	k.Close()
	k.handler.Gone(err)
}

// Close takes the connection off the poller. Its handler is not told. The
// descriptor is closed when nobody reads.
func (k *Conn) Close() {
	if k.closed {
		return
	}
	k.closed = true
	p := k.p
	_ = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, k.fd, nil) // it is closed anyway
	delete(p.conns, k.fd)
	p.retired = append(p.retired, k.fd)
	if p.leader == nil {
		p.closeRetired()
	}
}

// closeRetired closes the descriptors of closed connections; the leader, or
// whoever runs while there is none, calls it.
func (p *Poller) closeRetired() {
	for _, fd := range p.retired {
		p.Closing(fd)
		unix.Close(fd)
	}
	p.retired = p.retired[:0]
}

// CloseWhenRead closes the connection of a process that is known to be dead,
// when the leader has read what that process had sent. The end of the stream
// need not show: a child of the process may hold the socket open.
func (k *Conn) CloseWhenRead() {
	k.p.ending = append(k.p.ending, k)
	k.p.LookSoon()
}

// closeEnding does what CloseWhenRead asked for; the leader calls it.
func (p *Poller) closeEnding() {
	for len(p.ending) > 0 {
		k := p.ending[0]
		p.ending = p.ending[1:]
		k.read()
		k.lose(errPeerLeft)
	}
}

// traced tells the tracer of a read or write that began at began.
func (k *Conn) traced(s trace.Stage, began int64, bytes int) {
	if trace.On {
		trace.Span(s, began, k.fd, bytes)
	}
}
