package executor

import (
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/callargs"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
	"golang.org/x/sys/unix"
)

// Session is what an Executor asks of its session. The mutex is held.
type Session interface {
	// CancelChildren cancels everything that a call has submitted. The answer is
	// closed when all workers concerned have heard, or had their time.
	CancelChildren(token uint64, force bool) <-chan struct{}
	// WouldLose reports whether something that others need would be lost with this worker.
	WouldLose() bool
	// Failed ends the session.
	Failed(err error)
}

// Parts are the parts of a worker's session that an Executor uses.
type Parts struct {
	Session Session
	Objects *access.Objects
	Table   *refs.Table
	Store   *nodestore.Store
	Poller  *transport.Poller
	Borrows *borrows.Messenger
	Job     ids.Job
	Self    ids.Owner
	Socket  string // the daemon's
	// Interrupt, when set, makes the program's main thread look for a cancellation.
	Interrupt func()
	// Die ends this process at once.
	Die func()
	// BootTime, when set, returns the machine's boot time (CLOCK_BOOTTIME) faster than a system call.
	BootTime func() time.Duration
}

// eventLoop is what the core knows of the program's event loop.
type eventLoop struct {
	on       bool // calls are taken by one
	fd       int  // of its poller
	armed    bool // our poller tells of it, once
	fired    bool // it did
	waiter   *wait.Wait
	fetching bool    // a goroutine has the call whose turn it is
	fetched  []*Item // what it has made of that
}

// Executor is the half of a session that is called: a worker's. A session embeds it; in a
// process that is no worker it stays zero.
type Executor struct {
	mu        *sync.Mutex
	session   Session
	objects   *access.Objects
	table     *refs.Table
	local     *nodestore.Store
	poller    *transport.Poller
	borrows   *borrows.Messenger
	exec      *execute.Worker  // the calls that run and those that wait; nil: this process is no worker
	args      callargs.Fetcher // fetches what the calls take
	interrupt func()
	die       func()
	self      ids.Owner
	socket    string

	loop eventLoop // of an actor with coroutines
	only exclusive // see exclusive.go

	bootTime func() time.Duration // nil: the system is asked
}

// InitExecutor gives the session's mutex, also to a process that is no worker.
func (x *Executor) InitExecutor(mu *sync.Mutex) { x.mu = mu }

// TakeCalls makes this process a worker, which others call, and returns its queue.
func (x *Executor) TakeCalls(p Parts) *execute.Worker {
	x.session, x.objects, x.table, x.local, x.poller, x.borrows = p.Session, p.Objects, p.Table, p.Store, p.Poller, p.Borrows
	x.interrupt, x.die, x.self, x.socket = p.Interrupt, p.Die, p.Self, p.Socket
	x.bootTime = p.BootTime
	x.exec = execute.New((*effects)(x), p.Job)
	x.args = callargs.Fetcher{Session: (*effects)(x), Calls: x.exec, Store: x.local, Table: x.table, MaxMisses: retry.MaxMisses}
	return x.exec
}

// Welcome takes over a task connection that somebody has opened to this process.
func (x *Executor) Welcome(fd int, h *wire.Hello, page int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.objects.Closed() {
		unix.Close(fd)
		return
	}
	k := new(transport.Conn)
	caller := x.exec.AddCaller(k, h, page)
	if caller.Owner.Node() != x.self.Node() {
		k.MarkFar()
	}
	if err := x.poller.Add(k, fd, caller); err != nil {
		x.session.Failed(err)
		return
	}
	x.exec.Greet(caller)
	// What came with the hello is read now: the poller was not asked yet.
	k.ReadSoon()
}
