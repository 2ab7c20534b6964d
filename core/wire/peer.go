package wire

import (
	"bytes"
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
	p.mu.Lock()
	if (len(p.out) == 0 && !p.writing) || p.closed {
		p.mu.Unlock()
		return nil
	}
	written := make(chan struct{})
	p.flushes = append(p.flushes, written)
	p.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.done:
	case <-written:
	}
	return nil
}

func (p *Peer) shut(err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed, p.err = true, err
	calls := p.calls
	p.calls, p.out = nil, nil // others may keep p for a while
	close(p.done)
	p.mu.Unlock()
	p.conn.Close()
	if p.onClose != nil { // first, because callers whose calls fail ask it why
		p.onClose(err)
	}
	for _, f := range calls {
		f(nil, err)
	}
}

// Push sends a one-way message. It never blocks on the peer.
func (p *Peer) Push(t Type, body any) error { return p.send(Push, t, 0, 0, body) }

// nowFor is how long PushNow waits for a peer that does not read.
const nowFor = 100 * time.Millisecond

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
	p.mu.Lock()
	if p.closed {
		err := p.err
		p.mu.Unlock()
		go done(nil, err)
		return
	}
	p.nextID++
	id := p.nextID
	p.calls[id] = done
	p.mu.Unlock()
	if err := p.send(Request, t, id, 0, body); err != nil {
		p.mu.Lock()
		_, mine := p.calls[id]
		delete(p.calls, id)
		p.mu.Unlock()
		if mine {
			go done(nil, err)
		}
	}
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

var encoders = sync.Pool{New: func() any {
	b := new(bytes.Buffer)
	e := msgpack.NewEncoder(b)
	e.UseCompactInts(true)
	e.UseArrayEncodedStructs(true)
	return &encoder{b, e}
}}

type encoder struct {
	buf *bytes.Buffer
	enc *msgpack.Encoder
}

// AppendMessage appends one control frame to dst.
func AppendMessage(dst []byte, k Kind, t Type, id uint64, deadlineMs uint32, body any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf.Reset()
	err := errors.Join(e.enc.EncodeArrayLen(6), e.enc.EncodeUint(Version), e.enc.EncodeUint(uint64(k)),
		e.enc.EncodeUint(uint64(t)), e.enc.EncodeUint(id), e.enc.EncodeUint(uint64(deadlineMs)), e.enc.Encode(body))
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", t, err)
	}
	if e.buf.Len() > MaxControl {
		return dst, fmt.Errorf("the request would be a message of %d bytes, and at most %d are allowed (%s, %w): names, options and variables travel in messages; pass large values as arguments, or put them into the object store", e.buf.Len(), MaxControl, t, ErrFrameTooLarge)
	}
	return AppendFrame(dst, e.buf.Bytes()), nil
}

var decoders = sync.Pool{New: func() any { return &decoder{dec: msgpack.NewDecoder(nil)} }}

type decoder struct {
	in  bytes.Reader
	dec *msgpack.Decoder
}

// ParseMessage decodes the payload of one control frame.
func ParseMessage(b []byte) (*Message, error) {
	if err := Check(b, MaxValues); err != nil {
		return nil, err
	}
	r := decoders.Get().(*decoder)
	r.in.Reset(b)
	d := r.dec
	d.Reset(&r.in)
	n, err := d.DecodeArrayLen()
	if err != nil || n != 6 {
		return nil, fmt.Errorf("%w: header", ErrBadFrame)
	}
	var h [5]uint64
	for i := range h {
		if h[i], err = d.DecodeUint64(); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrBadFrame, err)
		}
	}
	if h[0] != Version {
		return nil, fault.New(fault.VersionMismatch, "peer speaks protocol version %d, this build %d", h[0], Version)
	}
	raw, err := d.DecodeRaw()
	if err != nil {
		return nil, fmt.Errorf("%w: body: %v", ErrBadFrame, err)
	}
	r.in.Reset(nil)
	decoders.Put(r) // one that met an error is not used again
	return &Message{Kind: Kind(h[1]), Type: Type(h[2]), ID: h[3], DeadlineMs: uint32(h[4]), Body: raw}, nil
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
	p.mu.Lock()
	if p.closed {
		err := p.err
		p.mu.Unlock()
		return err
	}
	if len(p.out)+len(frame) > MaxPending {
		p.mu.Unlock()
		go p.shut(fmt.Errorf("peer does not read: %d bytes unsent", MaxPending)) // onClose may want the caller's locks
		return ErrPeerClosed
	}
	p.out = append(p.out, frame...)
	p.mu.Unlock()
	p.wakeWriter()
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
			p.mu.Lock()
			if p.leaves {
				p.mu.Unlock()
				return
			}
			b := p.out
			p.out, p.writing = spare[:0], len(b) > 0
			if len(b) == 0 {
				for _, written := range p.flushes {
					close(written)
				}
				p.flushes = nil
			}
			p.mu.Unlock()
			if len(b) == 0 {
				spare = b
				break
			}
			n, err := p.conn.Write(b)
			p.mu.Lock()
			p.writing = false
			if p.leaves {
				p.out = append(append([]byte(nil), b[n:]...), p.out...)
				p.mu.Unlock()
				return
			}
			p.mu.Unlock()
			if err != nil {
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
			p.mu.Lock()
			f := p.calls[m.ID]
			delete(p.calls, m.ID)
			p.mu.Unlock()
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
