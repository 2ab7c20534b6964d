package pipes

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Linger is how long the pipe of a control connection stays open when the process at one end has
// ended.
const Linger = wire.Linger

// Options describe a node.
type Options struct {
	Node    uint32  // its number
	Network Network // nil: no other node can be reached
	Here    Here
	Linger  time.Duration // 0: Linger
	// Talks returns why the processes of this node cannot talk to those of another one: they are of a release whose messages differ. Nil: they always can.
	Talks func(node uint32) error
	// Refused is told of hellos and streams that are refused, and why.
	Refused func(err error)
}

// Pipes are the ends of pipes that are on this node.
type Pipes struct {
	o       Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup // one for each end

	mu     sync.Mutex
	closed bool
	ends   map[*end]struct{}
	of     map[ids.Owner]map[*end]struct{} // the same ends, by the process of this node
}

// New returns Pipes without any pipe. The caller has to close them.
func New(o Options) *Pipes {
	if o.Linger == 0 {
		o.Linger = Linger
	}
	p := &Pipes{o: o, ends: make(map[*end]struct{}), of: make(map[ids.Owner]map[*end]struct{})}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Near takes over the connection of a process of this node that has said which process of another
// node it wants to reach. It returns at once.
func (p *Pipes) Near(u *net.UnixConn, target ids.Owner) {
	p.begin(u, func(e *end) error { return p.near(e, u, target) })
}

// Far takes over a stream that another node has opened to a process of this node, or to its daemon.
// It returns at once. From is the number of the other node.
func (p *Pipes) Far(stream net.Conn, from uint32, target ids.Owner) {
	p.begin(stream, func(e *end) error { return p.far(e, stream, from, target) })
}

// begin runs one end of a pipe on a goroutine of its own.
func (p *Pipes) begin(c net.Conn, run func(*end) error) {
	e := &end{p: p, left: make(chan struct{})}
	if !p.enter(e) {
		c.Close()
		return
	}
	e.hold(c)
	go func() {
		defer p.running.Done()
		defer p.forget(e)
		defer e.close()
		if err := run(e); err != nil && p.ctx.Err() == nil && p.o.Refused != nil {
			p.o.Refused(err)
		}
	}()
}

// enter puts an end into the table. It returns false after Close.
func (p *Pipes) enter(e *end) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Add(1)
	p.ends[e] = struct{}{}
	return true
}

// belongs notes to which process of this node an end belongs.
func (p *Pipes) belongs(e *end, o ids.Owner) {
	p.index(e, o)
	if _, lives := p.o.Here.Socket(o); !lives { // Left may have been called before
		e.leave()
	}
}

// index puts an end among those of a process.
func (p *Pipes) index(e *end, o ids.Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.owner = o
	if p.of[o] == nil {
		p.of[o] = make(map[*end]struct{})
	}
	p.of[o][e] = struct{}{}
}

// forget takes an end out of the table.
func (p *Pipes) forget(e *end) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ends, e)
	if all := p.of[e.owner]; all != nil {
		if delete(all, e); len(all) == 0 {
			delete(p.of, e.owner)
		}
	}
}

// Left says that a process of this node is gone: it has ended, or has left the session, and nobody
// has taken its place. Its pipes end when what it wrote has been sent. Left does not wait.
func (p *Pipes) Left(o ids.Owner) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for e := range p.of[o] {
		e.leave()
	}
}

// Len returns the number of ends on this node.
func (p *Pipes) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ends)
}

// Close ends all pipes. It returns when their goroutines have ended.
func (p *Pipes) Close() {
	for _, e := range p.shut() {
		e.close()
	}
	p.running.Wait()
}

// shut lets no new end in, and returns those that there are.
func (p *Pipes) shut() (all []*end) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.cancel()
	for e := range p.ends {
		all = append(all, e)
	}
	return all
}

// lingers returns how long a pipe stays open when the process at one end has ended.
func (p *Pipes) lingers(h *wire.Hello) time.Duration {
	if h.Role == wire.RoleControl {
		return p.o.Linger
	}
	return 0
}
