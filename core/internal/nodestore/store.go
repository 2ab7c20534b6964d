package nodestore

import (
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Options make a Store.
type Options struct {
	Mu *sync.Mutex // the session's
	// KeepsIdle is set in workers: what a task has looked at stays pinned for the next one.
	KeepsIdle bool
	// Signals, when set, runs the program's handlers of signals that have come,
	// if the calling thread is the one for that; true: one has raised an exception.
	Signals func() bool
	// Rest, when set, lets go of memory that only the beginning of a session uses.
	Rest func()
}

// Store is localstore.Store with the daemon's answers and the waits for them.
type Store struct {
	localstore.Store
	mu      *sync.Mutex
	daemon  *wire.Peer
	table   *refs.Table
	signals func() bool
	rest    func()
	over    error       // why the session has ended; nil while it lasts
	trimmer *time.Timer // see trim.go; nil: the arena is not mapped
}

// Init makes a zero Store usable. It asks the daemon nothing before Serve.
func (s *Store) Init(o Options) {
	s.mu, s.signals, s.rest = o.Mu, o.Signals, o.Rest
	s.Store.Init(localstore.Options{Daemon: (*host)(s), Clock: (*host)(s), KeepsIdle: o.KeepsIdle})
}

// Serve gives the connection to the daemon.
func (s *Store) Serve(daemon *wire.Peer) { s.daemon = daemon }

// Join says which process this is, and which table has its objects. A session may
// join again: a driver when its job begins, a successor when it takes a process over.
func (s *Store) Join(self ids.Owner, table *refs.Table) {
	s.table = table
	s.Store.Join(self, table)
}

// End says that the session has ended, and why. From now on nothing is kept for later.
func (s *Store) End(why error) {
	s.over = why
	s.Store.End(why)
}

// Close ends all use of the store by this session.
func (s *Store) Close() {
	if s.trimmer != nil {
		s.trimmer.Stop()
	}
	s.Store.Close()
}

// why returns the reason for which the session has ended, nil while it lasts. The mutex is not held.
func (s *Store) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
