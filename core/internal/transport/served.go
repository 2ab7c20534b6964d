package transport

import (
	"net"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// ServedHost is the process that answers others.
type ServedHost interface {
	// Asked handles a message of a process. It is called without the mutex.
	Asked(who ids.Owner, m *wire.Message)
	// Left is called when a process has no control connection to this one any
	// more. It is called with the mutex held.
	Left(who ids.Owner)
}

// Served are the control connections that others have opened to this process:
// borrowers of its objects, and those whose calls it runs. The session's mutex
// guards them.
type Served struct {
	mu    *sync.Mutex
	host  ServedHost
	told  watcher
	peers map[*wire.Peer]*served
	ended bool // nobody is let in any more
}

// served is one of them.
type served struct {
	who ids.Owner
	fd  int // -1: its end was told already
}

// NewServed returns no connections yet. Descriptor is told of descriptors as
// Options.Descriptor is.
func NewServed(mu *sync.Mutex, host ServedHost, descriptor func(fd int, open bool)) *Served {
	return &Served{mu: mu, host: host, told: descriptor, peers: map[*wire.Peer]*served{}}
}

// Len is how many connections there are.
func (s *Served) Len() int { return len(s.peers) }

// Has reports whether a process has a control connection to this one.
func (s *Served) Has(who ids.Owner) bool {
	for _, x := range s.peers {
		if x.who == who {
			return true
		}
	}
	return false
}

// admit serves a process that has said who it is. The mutex must not be held.
func (s *Served) admit(u *net.UnixConn, who ids.Owner) {
	p := s.letIn(u, who)
	if p == nil {
		u.Close()
		return
	}
	p.Start()
}

// letIn adds the connection of a process. It returns nil when connections are no longer accepted.
func (s *Served) letIn(u *net.UnixConn, who ids.Owner) *wire.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return s.add(u, who, wire.State{})
}

// Resume takes over a connection that another process has detached. The connection is not
// started yet: see Start.
func (s *Served) Resume(u *net.UnixConn, who ids.Owner, state wire.State) *wire.Peer {
	return s.add(u, who, state)
}

func (s *Served) add(u *net.UnixConn, who ids.Owner, state wire.State) *wire.Peer {
	x := &served{who: who, fd: Descriptor(u)}
	var p *wire.Peer
	p = wire.Resume(u, state, func(m *wire.Message) { s.host.Asked(who, m) }, func(error) { s.lost(p) })
	s.peers[p] = x
	s.told.opened(x.fd)
	return p
}

// lost forgets a connection that has ended.
func (s *Served) lost(p *wire.Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.peers[p]
	delete(s.peers, p)
	s.told.closing(&x.fd)
	if !s.Has(x.who) { // else it has come again since
		s.host.Left(x.who)
	}
}

// Start starts the connections that were resumed.
func (s *Served) Start() {
	for p := range s.peers {
		p.Start()
	}
}

// DetachedPeer is a connection that was stopped so that another process can continue it.
type DetachedPeer struct {
	Who   ids.Owner
	State wire.State
	Peer  *wire.Peer // whose questions can still be told apart by it
}

// Detach stops all connections and returns those that were open. Nobody is let
// in any more. The mutex is released meanwhile.
func (s *Served) Detach() (out []DetachedPeer) {
	s.ended = true
	for p, x := range s.peers {
		if state, ok := detached(s.mu, p); ok { // else its end is being told
			out = append(out, DetachedPeer{Who: x.who, State: state, Peer: p})
		}
	}
	return out
}

// Refuse accepts no further connection.
func (s *Served) Refuse() { s.ended = true }

// Close closes all connections and accepts no further connection.
func (s *Served) Close() {
	s.ended = true
	for p, x := range s.peers {
		s.told.closing(&x.fd)
		go p.Close()
	}
}

// CloseConnections closes the sockets, as the end of the process would. No handler is called.
func (s *Served) CloseConnections() {
	for p := range s.peers {
		_ = p.Conn().Close()
	}
}
