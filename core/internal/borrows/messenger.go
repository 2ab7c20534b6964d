package borrows

import (
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Session is what a Messenger asks of its session. The mutex is held.
type Session interface {
	// TakeDrops takes what the program has let go of.
	TakeDrops()
	// Await waits, with the mutex released meanwhile, for a wait to be over or for the deadline.
	Await(w *wait.Wait, deadline time.Time)
	// ReadsAnswers reports whether this process may still read answers from one of its task sockets, which
	// its hello named by this number: that of a lease, or of a connection to an actor.
	ReadsAnswers(actor bool, number uint64) bool
	// Say tells the user of this process something.
	Say(text string)
}

// Messenger carries the messages of one session. Init and Join make it usable.
type Messenger struct {
	mu      *sync.Mutex
	session Session
	table   *refs.Table
	links   *transport.Links  // control connections to other processes
	served  *transport.Served // control connections of other processes
	ended   bool              // the session is over: what comes now changes nothing
}

var (
	_ refs.OwnerEffects  = (*Messenger)(nil)
	_ transport.LinkHost = (*Messenger)(nil)
)

// Init gives the session's mutex and its connections. The links' host is the Messenger.
func (m *Messenger) Init(mu *sync.Mutex, s Session, links *transport.Links, served *transport.Served) {
	m.mu, m.session, m.links, m.served = mu, s, links, served
}

// Join says which table the messages are about. A session may join again: a driver
// when its job begins, a successor when it takes a process over.
func (m *Messenger) Join(t *refs.Table) { m.table = t }

// End says that the session has ended.
func (m *Messenger) End() { m.ended = true }

// event takes the mutex and calls a function, unless the session has ended.
func (m *Messenger) event(f func(t *refs.Table)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ended {
		f(m.table)
	}
}

// Send implements transport.LinkHost. The mutex is not held.
func (m *Messenger) Send(t wire.Type, batch [][]byte, p *wire.Peer, err error) {
	switch {
	case t == wire.TRefBorrow:
		m.register(batch, p, err)
	case err == nil:
		_ = p.Push(t, wire.ObjRefs{ObjectIDs: batch}) // a broken connection is told by its end
	}
}

// Lost implements transport.LinkHost: the references that are waited for there
// will not become ready.
func (m *Messenger) Lost(addr string) {
	if !m.ended {
		m.table.OwnerGone(addr)
	}
}

// Unconnected implements transport.LinkHost.
func (m *Messenger) Unconnected(addr string, why error) {
	if !m.ended {
		m.session.Say(fmt.Sprintf("this process has not been able to connect to the process at %s for a second: %v; "+
			"it goes on trying, and what needs the other process waits meanwhile. Warnings of this kind pause until a connection succeeds", addr, why))
	}
}
