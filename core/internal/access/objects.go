package access

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/sites"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Parts are the parts of a session that Objects uses.
type Parts struct {
	Mu      *sync.Mutex // the session's
	Store   *nodestore.Store
	Borrows *borrows.Messenger
	Submit  *submit.Submitter // for generators, whose items a program takes
	Sites   *sites.Texts
	// Signals, when set, runs the program's handlers of signals that have come,
	// if the calling thread is the one for that; true: one has raised an exception.
	Signals func() bool
	// Drops, when set, hands over the references and views that the program
	// let go of since the last call. It must not block.
	Drops func() []Drop
}

// Objects is what a program does with objects. A session embeds it.
type Objects struct {
	mu      *sync.Mutex
	table   *refs.Table
	local   *nodestore.Store
	poller  *transport.Poller
	borrows *borrows.Messenger
	submit  *submit.Submitter
	sites   *sites.Texts
	exec    *execute.Worker // nil: this process is no worker
	daemon  *wire.Peer
	signals func() bool
	drops   func() []Drop

	self ids.Owner
	addr string // of this process

	closed bool
	why    error // why the session has ended

	async   asyncQueue
	fetches map[ids.Object][]*wait.Wait // values that are being fetched for waits with WaitHere, and which waits count them
	scratch []*refs.Object              // memory for the next list that the program waits for, see find.go
}

// InitObjects makes a zero Objects usable, except for the parts that the methods below set.
func (a *Objects) InitObjects(p Parts) {
	a.mu, a.local, a.borrows, a.submit, a.sites = p.Mu, p.Store, p.Borrows, p.Submit, p.Sites
	a.signals, a.drops = p.Signals, p.Drops
	a.async.fd = -1
}

// JoinTable says which process this is, and which table has its objects. A session may join again: a driver
// when its job begins, a successor when it takes a process over.
func (a *Objects) JoinTable(self ids.Owner, addr string, t *refs.Table) {
	a.self, a.addr, a.table = self, addr, t
}

// WaitWith gives the poller of the task sockets, and opens the descriptor that event loops watch.
func (a *Objects) WaitWith(p *transport.Poller) (err error) {
	a.poller = p
	a.async.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return err
}

// AskAt gives the connection to the daemon.
func (a *Objects) AskAt(daemon *wire.Peer) { a.daemon = daemon }

// WorkFor says that this process is a worker, and which calls it runs. A call that waits for long lends its CPUs.
func (a *Objects) WorkFor(calls *execute.Worker) { a.exec = calls }

// Closed reports whether the session has ended. The mutex is held.
func (a *Objects) Closed() bool { return a.closed }

// Why returns why the session has ended, nil while it lasts. The mutex is held.
func (a *Objects) Why() error { return a.why }

// SetClosed says that the session has ended, and why. The mutex is held.
func (a *Objects) SetClosed(why error) { a.closed, a.why = true, why }

// CloseAsync closes the descriptor that event loops watch. Waits that end later tell nobody. The mutex is held.
func (a *Objects) CloseAsync() {
	if a.async.fd >= 0 {
		unix.Close(a.async.fd)
		a.async.fd = -1
	}
}
