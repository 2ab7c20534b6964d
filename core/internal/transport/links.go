package transport

import (
	"net"
	"sync"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// MaxBatch is how many ids share a message of a link.
const MaxBatch = 10_000

// LinkHost is the process that has the links.
type LinkHost interface {
	// Send sends ids that were batched for a message type, over p. If there is no connection,
	// it gets the reason instead. It is called without the mutex.
	Send(t wire.Type, batch [][]byte, p *wire.Peer, err error)
	// Lost is called when the process at an address has ended. It is called with the mutex held.
	Lost(addr string)
	// Unconnected is called when the process at an address could not be connected to for a second, though nothing
	// says that it has ended: the link goes on trying. It is called once until a link has been opened again, with
	// the mutex held.
	Unconnected(addr string, why error)
}

// Links are the control connections that this process has opened to others: to
// the owners of references that it holds, and to the workers of tasks that it
// cancels. Each link has its own goroutine while it has messages to send. The
// session's mutex guards them.
type Links struct {
	mu     *sync.Mutex
	host   LinkHost
	dialer Dialer
	hello  func() wire.Hello
	watch  watcher
	links  map[string]*Link // by address
	idle   *sync.Cond       // a link has nothing to say any more, or is stopped
	told   bool             // the host, that a process cannot be connected to
	over   chan struct{}    // closed when ended becomes true
	ended  bool             // no attempt to connect is repeated
	closed bool
}

// Link is a connection to one process; it may still be being opened. Messages are sent in
// order, because a reference that this process has released and then got again must not
// seem released.
type Link struct {
	all     *Links
	addr    string
	peer    *wire.Peer // nil while connecting
	err     error
	fd      int // -1: there is none
	jobs    []job
	now     chan struct{} // has one element when the next attempt to connect is not to wait
	busy    bool          // a goroutine sees to jobs
	stopped bool          // jobs are not to be done here any more
}

// job is either ids for a message or a function.
type job struct {
	kind  wire.Type
	batch [][]byte
	do    func(*wire.Peer, error)
	once  bool // do is called when an attempt to connect has failed, too
}

// NewLinks returns no links yet. Hello says who opens them; descriptor is told
// of descriptors as Options.Descriptor is.
func NewLinks(mu *sync.Mutex, host LinkHost, dialer Dialer, hello func() wire.Hello, descriptor func(fd int, open bool)) *Links {
	return &Links{mu: mu, host: host, dialer: dialer, hello: hello, watch: descriptor, links: map[string]*Link{}, idle: sync.NewCond(mu), over: make(chan struct{})}
}

// Find returns the link to an address, nil when there is none.
func (a *Links) Find(addr string) *Link { return a.links[addr] }

// Len is how many there are.
func (a *Links) Len() int { return len(a.links) }

// To returns the link to an address, and begins to open it if there is none.
func (a *Links) To(addr string) *Link {
	l := a.links[addr]
	if l == nil {
		l = &Link{all: a, addr: addr, fd: -1, busy: true, now: make(chan struct{}, 1)}
		a.links[addr] = l
		go l.open()
	}
	return l
}

// Do arranges that f is called with the connection when all earlier messages have been sent. If the process or the
// session has ended, f is called with the reason why there is no connection. While a living process cannot be
// connected to, f waits. f is called without the mutex.
func (l *Link) Do(f func(*wire.Peer, error)) { l.add(job{do: f}) }

// Attempt is Do for a message that its sender sends again by itself: the process is connected to at once, and f is
// called with the reason when that fails, whether the process has ended or not.
func (l *Link) Attempt(f func(*wire.Peer, error)) {
	l.add(job{do: f, once: true})
	select {
	case l.now <- struct{}{}:
	default: // the next attempt does not wait already, or the link is open
	}
}

// Batch sends an id in a message of the given type. Ids of one type that are passed
// one after the other share a message.
func (l *Link) Batch(t wire.Type, id []byte) {
	if n := len(l.jobs); n > 0 {
		if j := &l.jobs[n-1]; j.do == nil && j.kind == t && len(j.batch) < MaxBatch {
			j.batch = append(j.batch, id)
			return
		}
	}
	l.add(job{kind: t, batch: [][]byte{id}})
}

// BatchAll is Batch for many ids, which share one message.
func (l *Link) BatchAll(t wire.Type, list [][]byte) { l.add(job{kind: t, batch: list}) }

func (l *Link) add(j job) {
	l.jobs = append(l.jobs, j)
	if !l.busy && !l.stopped {
		l.busy = true
		go l.serve()
	}
}

// serve does what is queued.
func (l *Link) serve() {
	for {
		jobs, p, err := l.takeJobs()
		if len(jobs) == 0 {
			return
		}
		for _, j := range jobs {
			if j.do != nil {
				j.do(p, err)
			} else {
				l.all.host.Send(j.kind, j.batch, p, err)
			}
		}
	}
}

// takeJobs returns the queued jobs and the connection for them. If there are no jobs, the
// link is not busy any more.
func (l *Link) takeJobs() ([]job, *wire.Peer, error) {
	a := l.all
	a.mu.Lock()
	defer a.mu.Unlock()
	jobs := l.jobs
	if len(jobs) == 0 || l.stopped {
		l.busy = false
		a.idle.Broadcast()
		return nil, nil, nil
	}
	l.jobs = nil
	return jobs, l.peer, l.err
}

// refuse is the handler of connections on which only this process asks.
func refuse(m *wire.Message) {
	_ = m.Fail(fault.New(fault.BadRequest, "%s is not for the calling side", m.Type))
}

// lost forgets a link whose process has ended.
func (l *Link) lost() {
	a := l.all
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(l)
	a.watch.closing(&l.fd)
	a.host.Lost(l.addr)
}

// forget takes a link out, unless another one has its place.
func (a *Links) forget(l *Link) {
	if a.links[l.addr] == l {
		delete(a.links, l.addr)
	}
}

// End says that the session has ended: no attempt to connect is repeated, and requests that wait for one are told.
func (a *Links) End() {
	if !a.ended {
		a.ended = true
		close(a.over)
	}
}

// Close ends and closes all links, and those that are being opened as soon as they are.
func (a *Links) Close() {
	a.End()
	a.closed = true
	for _, l := range a.links {
		if l.peer != nil {
			a.watch.closing(&l.fd)
			go l.peer.Close()
		}
	}
}

// CloseConnections closes the sockets of all links, as the end of the process
// would. No handler is called.
func (a *Links) CloseConnections() {
	for _, l := range a.links {
		if l.peer != nil {
			_ = l.peer.Conn().Close()
		}
	}
}

// Quiet reports whether all messages have been sent.
func (a *Links) Quiet() bool {
	for _, l := range a.links {
		if l.busy || len(l.jobs) > 0 {
			return false
		}
	}
	return true
}

// Detached is a link that was stopped, for another process to go on with.
type Detached struct {
	Addr   string
	State  wire.State
	Conn   net.Conn
	Unsent map[wire.Type][][]byte // batches that were not sent
}

// Detach stops all links and returns those that are open. Attempts to connect end. The mutex is
// released meanwhile.
func (a *Links) Detach() (out []Detached) {
	a.End()
	list := make([]*Link, 0, len(a.links))
	for _, l := range a.links {
		l.stopped = true
		list = append(list, l)
	}
	for _, l := range list {
		for l.busy && l.peer != nil {
			a.idle.Wait() // it is being written
		}
		if l.peer == nil || l.err != nil {
			continue // who goes on opens it anew
		}
		s, ok := detached(a.mu, l.peer)
		if !ok {
			continue // its end is being told
		}
		d := Detached{Addr: l.addr, State: s, Conn: l.peer.Conn(), Unsent: map[wire.Type][][]byte{}}
		for _, j := range l.jobs {
			if j.do == nil {
				d.Unsent[j.kind] = append(d.Unsent[j.kind], j.batch...)
			}
		}
		out = append(out, d)
	}
	return out
}

// detached stops a connection. The mutex, which its handler may take, is released meanwhile.
func detached(mu *sync.Mutex, p *wire.Peer) (wire.State, bool) {
	mu.Unlock()
	defer mu.Lock()
	return p.Detach()
}

// Resume takes over a link that another process has detached. The link is not
// started yet: see Start.
func (a *Links) Resume(u *net.UnixConn, addr string, s wire.State) *Link {
	l := &Link{all: a, addr: addr, fd: Descriptor(u), now: make(chan struct{}, 1)}
	l.peer = wire.Resume(u, s, refuse, func(error) { l.lost() })
	a.links[addr] = l
	a.watch.opened(l.fd)
	return l
}

// Start starts the links that were resumed.
func (a *Links) Start() {
	for _, l := range a.links {
		if l.peer != nil {
			l.peer.Start()
		}
	}
}
