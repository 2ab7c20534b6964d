package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
)

// Kind says what a control frame is.
type Kind uint8

// The kinds of control frames.
const (
	Request Kind = iota + 1 // expects a Reply or a Failure with the same id
	Reply
	Failure // a fault: [code, message]
	Push    // one way
)

// Message is one received frame. Its body may be decoded until the handler
// returns or later; it is not shared.
type Message struct {
	Kind       Kind
	Type       Type
	ID         uint64
	DeadlineMs uint32
	Body       msgpack.RawMessage
	peer       *Peer
}

// Peer returns the connection that the message came from.
func (m *Message) Peer() *Peer { return m.peer }

// Decode reads the body into v.
func (m *Message) Decode(v any) error {
	if err := msgpack.Unmarshal(m.Body, v); err != nil {
		return fault.New(fault.BadRequest, "%s: %v", m.Type, err)
	}
	return nil
}

// Reply answers a request; for a push it does nothing.
func (m *Message) Reply(v any) error {
	if m.Kind != Request {
		return nil
	}
	err := m.peer.send(Reply, m.Type, m.ID, 0, v)
	if errors.Is(err, ErrFrameTooLarge) { // the process that asked must not wait for ever
		return m.Fail(fault.New(fault.BadRequest, "the answer to %s does not fit one message: %v", m.Type, err))
	}
	return err
}

// Fail answers a request with an error.
func (m *Message) Fail(err error) error {
	if m.Kind != Request {
		return nil
	}
	f := fault.From(err)
	return m.peer.send(Failure, m.Type, m.ID, 0, f)
}

// Handler receives requests and pushes, in order, on the peer's reader
// goroutine: it must not wait for a message from the same peer.
type Handler func(*Message)

// Peer is one end of a control connection.
type Peer struct {
	conn   net.Conn
	raw    syscall.RawConn // nil: conn has no descriptor
	handle Handler
	Tag    any // the owner's own state for this connection; set before Start

	in    framer
	stops atomic.Bool   // the reader shall end; see Detach
	ended chan struct{} // closed when it has
	wrote chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	out     []byte
	writing bool // the writer has taken bytes out that are not written yet
	leaves  bool // nothing more is written; see Detach
	flushes []chan struct{}
	wake    chan struct{}
	nextID  uint64
	calls   map[uint64]func(*Message, error)
	closed  bool
	err     error
	done    chan struct{}
	onClose func(error)
}

// NewPeer wraps conn. Nothing is read before Start.
func NewPeer(conn net.Conn, h Handler, onClose func(error)) *Peer {
	p := &Peer{
		conn: conn, handle: h, onClose: onClose,
		in:    framer{r: conn},
		ended: make(chan struct{}),
		wrote: make(chan struct{}),
		wake:  make(chan struct{}, 1),
		calls: make(map[uint64]func(*Message, error)),
		done:  make(chan struct{}),
	}
	if c, ok := conn.(syscall.Conn); ok {
		if raw, err := c.SyscallConn(); err == nil {
			p.raw = raw
		}
	}
	return p
}

// Start runs the reader and the writer.
func (p *Peer) Start() {
	go p.read()
	go p.write()
}

// Conn returns the underlying connection.
func (p *Peer) Conn() net.Conn { return p.conn }

// Done is closed when the connection is.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err says why the connection closed, nil while it is open.
func (p *Peer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Close sends nothing more and fails all calls in flight.
func (p *Peer) Close() { p.shut(ErrPeerClosed) }

// Flush waits until everything sent so far is written, or ctx ends.
func (p *Peer) Flush(ctx context.Context) error {
	written := p.unwritten()
	if written == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
	case <-written:
	}
	return nil
}

// unwritten returns a channel that is closed when everything sent so far is
// written, nil when that is so already or nothing more is written.
func (p *Peer) unwritten() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if (len(p.out) == 0 && !p.writing) || p.closed {
		return nil
	}
	written := make(chan struct{})
	p.flushes = append(p.flushes, written)
	return written
}

func (p *Peer) shut(err error) {
	calls, open := p.refuse(err)
	if !open {
		return
	}
	p.conn.Close()
	if p.onClose != nil { // first, because callers whose calls fail ask it why
		p.onClose(err)
	}
	for _, f := range calls {
		f(nil, err)
	}
}

// refuse makes the peer refuse further messages, and returns the calls that have no
// answer. It returns false when the peer was closed before.
func (p *Peer) refuse(err error) (calls map[uint64]func(*Message, error), open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false
	}
	p.closed, p.err = true, err
	calls = p.calls
	p.calls, p.out = nil, nil // others may keep p for a while
	close(p.done)
	return calls, true
}

// Push sends a one-way message. It never blocks on the peer.
func (p *Peer) Push(t Type, body any) error { return p.send(Push, t, 0, 0, body) }

// nowFor is how long PushNow waits for a peer that does not read. It is long enough for a peer that reads, but gets
// hardly any processor time.
const nowFor = 2 * time.Second

// PushNow is Push, and when it returns the message has left this process, which may end then.
// PushNow waits for nowFor at most for a peer that does not read.
func (p *Peer) PushNow(t Type, body any) error {
	frame, err := AppendMessage(nil, Push, t, 0, 0, body)
	if err != nil {
		return err
	}
	if p.writeNow(frame) {
		return nil
	}
	if err := p.queue(frame); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), nowFor)
	defer cancel()
	_ = p.Flush(ctx) // it is on its way
	return nil
}

// PushAtOnce is Push, and writes the message on the caller's goroutine when nothing else is
// waiting to be written. It does not wait either.
func (p *Peer) PushAtOnce(t Type, body any) error {
	frame, err := AppendMessage(nil, Push, t, 0, 0, body)
	if err != nil || p.writeNow(frame) {
		return err
	}
	return p.queue(frame)
}

// writeNow writes a frame if nothing else is waiting to be written. It returns false when
// nothing of the frame was written.
func (p *Peer) writeNow(frame []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.raw == nil || p.closed || p.leaves || p.writing || len(p.out) > 0 {
		return false
	}
	var n int
	err := p.raw.Write(func(fd uintptr) bool {
		n, _ = unix.Write(int(fd), frame) // what fails here fails for the writer, too
		return true
	})
	if err != nil || n <= 0 {
		return false
	}
	if n < len(frame) {
		p.out = append(p.out, frame[n:]...)
		p.wakeWriter()
	}
	return true
}

// Go sends a request. done runs on the reader's goroutine, with the reply, a fault, or the
// connection's error. It never runs before Go returns, because the caller may hold a lock that
// done takes.
func (p *Peer) Go(t Type, body any, done func(*Message, error)) {
	id, err := p.expect(done)
	if err != nil {
		go done(nil, err)
		return
	}
	if err := p.send(Request, t, id, 0, body); err != nil && p.takeCall(id) != nil {
		go done(nil, err)
	}
}

// expect notes who is waiting for the answer to the next request, and returns the request's id.
func (p *Peer) expect(done func(*Message, error)) (id uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, p.err
	}
	p.nextID++
	p.calls[p.nextID] = done
	return p.nextID, nil
}

// takeCall forgets a request, and returns the call that waits for its answer; nil if none waits.
func (p *Peer) takeCall(id uint64) func(*Message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.calls[id]
	delete(p.calls, id)
	return done
}

// Call sends a request and waits; reply may be nil.
func (p *Peer) Call(ctx context.Context, t Type, body, reply any) error {
	type answer struct {
		m   *Message
		err error
	}
	ch := make(chan answer, 1)
	p.Go(t, body, func(m *Message, err error) { ch <- answer{m, err} })
	select {
	case a := <-ch:
		if a.err != nil || reply == nil {
			return a.err
		}
		return a.m.Decode(reply)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Peer) send(k Kind, t Type, id uint64, deadlineMs uint32, body any) error {
	// Encode outside the lock, then append: order is the order of appends.
	frame, err := AppendMessage(nil, k, t, id, deadlineMs, body)
	if err != nil {
		return err
	}
	if k != Push && p.writeNow(frame) { // somebody waits for it
		return nil
	}
	return p.queue(frame)
}

// queue leaves a frame to the writer.
func (p *Peer) queue(frame []byte) error {
	if err := p.put(frame); err != nil {
		return err
	}
	p.wakeWriter() // without the mutex, which the writer takes first
	return nil
}

// put appends a frame to what the writer is to write.
func (p *Peer) put(frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.err
	}
	if len(p.out)+len(frame) > MaxPending {
		go p.shut(fmt.Errorf("peer does not read: %d bytes unsent", MaxPending)) // onClose may want the caller's locks
		return ErrPeerClosed
	}
	p.out = append(p.out, frame...)
	return nil
}

func (p *Peer) wakeWriter() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// spareKeep is the largest buffer that a silent connection keeps for its next messages.
const spareKeep = 64 << 10

// lastReads bounds how long the reader may take for what the other end said before it closed the connection.
const lastReads = 5 * time.Second

// awaitReader waits until what the other end said before it closed the connection has been read, such as why it ends.
func (p *Peer) awaitReader() {
	limit := time.NewTimer(lastReads)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-p.done:
	case <-limit.C:
	}
}

func (p *Peer) write() {
	defer close(p.wrote)
	var spare []byte
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		}
		for {
			b, leaves := p.takeOut(spare)
			if leaves {
				return
			}
			if len(b) == 0 {
				spare = b
				break
			}
			n, err := p.conn.Write(b)
			if p.written(b[n:]) {
				return
			}
			if err != nil {
				if errors.Is(err, unix.EPIPE) {
					p.awaitReader()
				}
				p.shut(err)
				return
			}
			spare = b
			if cap(spare) > spareKeep {
				spare = nil
			}
		}
	}
}

// takeOut gives the writer the bytes that have to be written, and keeps the spare buffer for
// messages that are sent meanwhile. When nothing is left to write, it wakes the callers of Flush.
func (p *Peer) takeOut(spare []byte) (b []byte, leaves bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaves {
		return nil, true
	}
	b = p.out
	p.out, p.writing = spare[:0], len(b) > 0
	if len(b) == 0 {
		for _, written := range p.flushes {
			close(written)
		}
		p.flushes = nil
	}
	return b, false
}

// written notes that the writer has written what it took out, except for the
// rest. If this process writes nothing more, the rest stays unsent.
func (p *Peer) written(rest []byte) (leaves bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = false
	if p.leaves {
		p.out = append(append([]byte(nil), rest...), p.out...)
	}
	return p.leaves
}

func (p *Peer) read() {
	defer close(p.ended)
	for !p.stops.Load() {
		b, err := p.in.next(MaxControl)
		var m *Message
		if err == nil {
			m, err = ParseMessage(b)
		}
		if err != nil {
			if !p.stops.Load() {
				p.in.drop()
				p.shut(err)
			}
			return
		}
		m.peer = p
		switch m.Kind {
		case Request, Push:
			p.handle(m)
		case Reply, Failure:
			f := p.takeCall(m.ID)
			if f == nil {
				continue
			}
			if m.Kind == Failure {
				e := new(fault.Error)
				if err := m.Decode(e); err != nil {
					f(nil, err)
				} else {
					f(nil, e)
				}
				continue
			}
			f(m, nil)
		default:
			p.shut(fmt.Errorf("%w: kind %d", ErrBadFrame, m.Kind))
			return
		}
	}
}
