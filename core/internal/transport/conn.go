package transport

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/trace"
)

// ReadChunk is how much is read at a time, bytes.
const ReadChunk = 128 << 10

// errPeerLeft is the reason that a handler gets when the other end has closed.
var errPeerLeft = errors.New("the process at the other end is gone")

// Handler gets what arrives on a connection.
type Handler interface {
	// Frames handles the complete frames at the beginning of b and returns how
	// many bytes they were. An error closes the connection.
	Frames(b []byte) (used int, err error)
	// Gone is called once, when the other end has left or Frames failed.
	Gone(err error)
}

// sockets are the task sockets of one process.
type sockets struct {
	mu *sync.Mutex // the session's
	reading
	sleeper
	told watcher // see Options.Descriptor

	conns   map[int]*Conn // by descriptor
	unsent  []*Conn       // with bytes that were not sent
	ending  []*Conn       // to be closed when everything that has arrived on them is read
	retired []int         // descriptors to be closed when nobody reads
}

// Conn is one task socket on a poller. The zero Conn is on none; see Poller.Add.
type Conn struct {
	s       *sockets
	fd      int
	handler Handler

	in   []byte // the leader's
	have int    // bytes of in that were read and not handled
	out  []byte // to be sent

	listed bool // in sockets.unsent
	full   bool // the socket takes no more; the poller tells when it does
	closed bool
	paused bool // nothing is read from it
	far    bool // the process at the other end is on another node

	partly  bool // some of out, or of what was in front of it, was sent
	refused bool // see Refused

	whenSent   func()        // called once when everything is sent
	toldWakeup time.Duration // what the other end was told that waking up costs
}

// Add puts a connected socket on the poller, which closes it in the end. The
// bytes that it has received so far are read at the next poll.
func (s *sockets) Add(k *Conn, fd int, h Handler) error {
	k.s, k.fd, k.handler = s, fd, h
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	s.conns[fd] = k
	s.Opened(fd)
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// Opened tells Options.Descriptor of a descriptor. The mutex need not be held.
func (s *sockets) Opened(fd int) { s.told.opened(fd) }

// Closing tells Options.Descriptor that a descriptor is about to be closed. The
// mutex need not be held.
func (s *sockets) Closing(fd int) { s.told.closing(&fd) }

// Restore gives a connection that is about to be added the bytes that another
// process had read from the socket and not handled, or not sent yet.
func (k *Conn) Restore(unread, unsent []byte) {
	k.in, k.have, k.out, k.partly = unread, len(unread), unsent, len(unsent) > 0
}

// MarkFar says that the process at the other end is on another node. How long its answers take says nothing of
// what waking costs here. So its calls are not measured, and nobody looks for their answers before sleeping.
func (k *Conn) MarkFar() { k.far = true }

// FD returns the descriptor.
func (k *Conn) FD() int { return k.fd }

// Closed reports whether the connection is closed, so that nothing is sent on it any more.
func (k *Conn) Closed() bool { return k.closed }

// Full reports whether the other end does not read fast enough.
func (k *Conn) Full() bool { return k.full }

// Unread returns the bytes that were read and not handled. No thread may lead.
func (k *Conn) Unread() []byte { return k.in[:k.have] }

// Pause stops reading from the connection; Resume goes on.
func (k *Conn) Pause() {
	k.paused = true
	k.watch()
}

// Resume starts to read from the connection again.
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
	_ = unix.EpollCtl(k.s.epoll, unix.EPOLL_CTL_MOD, k.fd, &unix.EpollEvent{Events: ev, Fd: int32(k.fd)}) // it fails only for a closed socket
	k.s.Arm()
}

// ReadSoon makes sure that a thread reads the answer to what was just sent.
func (k *Conn) ReadSoon() {
	if k.s.leader == nil {
		k.s.ArmReader()
	}
}

// receive reads from the socket as many bytes as there is room for. The mutex is released
// meanwhile, without a defer, because every answer comes this way and no handler runs here.
func (k *Conn) receive() (n int, err error) {
	b := k.in[k.have:]
	k.s.mu.Unlock()
	began := trace.Now()
	n, err = unix.Read(k.fd, b)
	k.tracedRead(began, n)
	k.s.mu.Lock()
	return n, err
}

// read reads what the socket has and calls the handler. The leader calls read. The
// mutex is released while reading.
func (k *Conn) read() {
	for !k.closed && !k.paused {
		if len(k.in)-k.have < ReadChunk/2 {
			k.grow()
		}
		n, err := k.receive()
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

// Close takes the connection off the poller. Its handler is not called. The
// descriptor is closed when no thread reads it.
func (k *Conn) Close() {
	if k.closed {
		return
	}
	k.closed = true
	s := k.s
	_ = unix.EpollCtl(s.epoll, unix.EPOLL_CTL_DEL, k.fd, nil) // it is closed anyway
	delete(s.conns, k.fd)
	s.retired = append(s.retired, k.fd)
	if s.leader == nil {
		s.closeRetired()
	}
}

// closeRetired closes the descriptors of closed connections. The leader calls it, or any
// thread while there is no leader.
func (s *sockets) closeRetired() {
	for _, fd := range s.retired {
		s.Closing(fd)
		unix.Close(fd)
	}
	s.retired = s.retired[:0]
}

// CloseWhenRead closes the connection of a process that is known to be dead,
// when the leader has read what that process had sent. The end of the stream
// need not show: a child of the process may hold the socket open.
func (k *Conn) CloseWhenRead() {
	k.s.ending = append(k.s.ending, k)
	k.s.LookSoon()
}

// closeEnding does what CloseWhenRead asked for; the leader calls it.
func (s *sockets) closeEnding() {
	for len(s.ending) > 0 {
		k := s.ending[0]
		s.ending = s.ending[1:]
		k.read()
		k.lose(errPeerLeft)
	}
}

// CloseConnections closes all connections. Their handlers are not called. No thread may lead.
func (s *sockets) CloseConnections() {
	for fd, k := range s.conns {
		k.closed = true
		s.Closing(fd)
		unix.Close(fd)
	}
	clear(s.conns)
	s.closeRetired()
}

// tracedRead tells the tracer of a read that began at began.
func (k *Conn) tracedRead(began int64, bytes int) {
	if trace.On {
		trace.Span(trace.Read, began, k.fd, bytes)
	}
}

// tracedWrite tells the tracer that a write begins; the caller tells of its end.
func (k *Conn) tracedWrite() (w trace.Write) {
	if trace.On {
		w = trace.BeginWrite(k.fd)
	}
	return w
}
