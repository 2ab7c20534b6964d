package client

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/localstore"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// MaxInline is the largest envelope that travels in a message; larger ones go
// through the arena. Bytes.
const MaxInline = 100 << 10

// What one message carries of values together, and what is too small to be worth the arena.
const (
	maxTogether = 4 << 20
	maxInFrame  = 16 << 20 // of all values in one frame, tiny ones too
	smallValue  = 1 << 10
)

// Options say how to join a session.
type Options struct {
	Socket string        // the daemon's
	Role   string        // wire.RoleDriver, RoleWorker, RoleService or RoleSuccessor
	Token  string        // worker: of its fork order; heir: of its predecessor
	Job    wire.JobStart // driver and service
	// Context, when set, ends the attempt to join; it has no effect afterwards.
	Context context.Context
	// Drops, when set, hands over the references and views that the program
	// let go of since the last call. It must not block.
	Drops func() []Drop
	// Interrupt, when set, makes the worker's main thread look for a cancellation.
	Interrupt func()
	// Signals, when set, runs the program's handlers of signals that have come,
	// if the calling thread is the one for that; true: one has raised an exception.
	Signals func() bool
	// Background, when set, lends the background poller a thread that is not Go's,
	// which calls Turn until that says transport.ModeEnd. False: there is none.
	Background func(*transport.Background) bool
	// Rest, when set, lets go of memory that only the beginning of a driver's session uses.
	Rest func()
	// Descriptor, when set, is told of descriptors that a forked child must
	// close, and before one is closed.
	Descriptor func(fd int, open bool)
	// Env, when set, is the program's environment as it is now. The Go runtime of
	// a shared library keeps the one that the process was started with.
	Env map[string]string
	// Exit, when set, ends a worker whose daemon is gone.
	Exit func(code int)
	// Unfetched, when set, is told of failures that nobody has fetched, in place
	// of a driver's notes and a worker's standard error. It must not block.
	Unfetched func(text string)
	// Site, when set, says what a number of Value.Site means.
	Site func(number uint32) string
}

// Info describes the session.
type Info struct {
	Node       ids.Node
	Worker     ids.Worker
	Job        ids.Job
	Namespace  string
	SessionDir string
	NodeAddr   string // of the machine, as other machines would name it
	Addr       string
	DaemonPid  int
	Totals     wire.Totals
}

// Client is one process's membership in a session.
type Client struct {
	membership
	submitter // its mutex is mu
	opts      Options
	daemon    *wire.Peer
	trimTimer *time.Timer         // see trim.go; nil: the arena is not mapped
	listener  *transport.Listener // nil: it could not be made, or is not taken over yet

	mu      sync.Mutex
	poller  *transport.Poller // of the task sockets; it releases mu while it waits
	local   localstore.Store  // what this process has of the node's object store
	dialer  transport.Dialer
	links   *transport.Links  // control connections to other processes
	served  *transport.Served // control connections of other processes
	exec    *execute.Worker   // of a worker: the calls that it runs and those that wait
	die     func()            // ends this process at once
	leaving *wait.Wait        // of a worker that ends and is still needed, or of its heir

	notes notes
	async asyncQueue

	texts      []string          // sites and functions that have no number elsewhere, see census.go
	byText     map[string]uint32 // their numbers
	otherMaker uint32            // of functions whose names are too many

	unfetched unfetched // failures that nobody looked at
	says      says

	scratch []*refs.Object // memory for the next list that the program waits for, see select.go

	loop eventLoop // of an actor, which does not move
}

// Connect joins the session of the daemon at o.Socket.
func Connect(o Options) (*Client, error) {
	ctx := o.Context
	if ctx == nil {
		ctx = context.Background()
	}
	o.Context = nil
	u, hr, fd, err := wire.DialContext(ctx, o.Socket, wire.Hello{Version: wire.Version, Role: o.Role, Pid: os.Getpid(), Token: o.Token})
	if err != nil {
		return nil, fmt.Errorf("connect to the daemon at %s: %w", o.Socket, err)
	}
	c := &Client{
		opts: o, dialer: transport.UnixDialer{}, die: killProcess, async: asyncQueue{fd: -1},
	}
	c.local.Init(localstore.Options{Daemon: (*storeHost)(c), Clock: (*storeHost)(c), KeepsIdle: o.Role == wire.RoleWorker})
	c.submitter.init(&c.membership, (*host)(c))
	c.successor = o.Role == wire.RoleSuccessor
	c.served = transport.NewServed(&c.mu, (*host)(c), o.Descriptor)
	c.links = transport.NewLinks(&c.mu, (*host)(c), c.dialer, (*host)(c).hello, o.Descriptor)
	c.lineage = c.newLineage(hr.ArenaBytes)
	copy(c.info.Node[:], hr.NodeID)
	copy(c.info.Worker[:], hr.WorkerID)
	copy(c.info.Job[:], hr.JobID)
	c.info.Namespace = hr.Namespace
	c.info.SessionDir, c.info.NodeAddr, c.info.Addr, c.info.DaemonPid, c.info.Totals = hr.SessionDir, hr.NodeAddr, hr.Addr, hr.DaemonPid, hr.Totals
	c.self = c.info.Worker.Owner()
	c.table = c.newTable()
	if err = c.open(fd, hr.ArenaBytes); err != nil {
		u.Close()
		c.release()
		return nil, err
	}
	c.notes.init()
	if err := c.startTrace(); err != nil {
		u.Close()
		c.release()
		return nil, err
	}
	c.startUnfetched()
	c.retryDelay = time.Duration(max(0, c.number(retryDelayVar, 0))) * time.Millisecond
	if o.Role == wire.RoleWorker {
		c.exec = execute.New((*host)(c), c.info.Job)
	}
	c.daemon = wire.NewPeer(u, c.fromDaemon, c.daemonGone)
	for _, fd := range []int{c.async.fd, transport.Descriptor(u)} {
		c.opened(fd)
	}
	c.daemon.Start()
	if o.Role != wire.RoleSuccessor {
		c.listener.Start()
	}
	if o.Role == wire.RoleDriver || o.Role == wire.RoleService {
		var js wire.JobStarted
		if err := c.daemon.Call(ctx, wire.TJobStart, o.Job, &js); err != nil {
			c.Close(0)
			return nil, fmt.Errorf("register the job: %w", err)
		}
		c.mu.Lock()
		copy(c.info.Job[:], js.JobID)
		c.info.Namespace = js.Namespace
		c.table = c.newTable()
		c.mu.Unlock()
	}
	if o.Role == wire.RoleWorker {
		if err := c.daemon.Push(wire.TWorkerReady, wire.WorkerReady{Pid: os.Getpid()}); err != nil {
			c.Close(0)
			return nil, err
		}
	}
	return c, nil
}

func (c *Client) open(arenaFD int, arenaBytes uint64) (err error) {
	if arenaFD < 0 {
		return fmt.Errorf("the daemon sent no arena")
	}
	c.local.SetArena(arenaFD, arenaBytes)
	if c.opts.Role != wire.RoleSuccessor { // of which there may be thousands in a process, and they read nothing
		if err := c.mapArena(); err != nil {
			return err
		}
	}
	o := transport.Options{Descriptor: c.opts.Descriptor, Lend: c.opts.Background}
	if c.opts.Role == wire.RoleWorker {
		o.Quiet = execute.GiveBackAfter // its next task counts on a turn before it is long
	}
	if c.poller, err = transport.New(&c.mu, (*host)(c), o); err != nil {
		return err
	}
	if c.async.fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	if c.opts.Role != wire.RoleSuccessor { // it gets its predecessor's
		c.listener, err = transport.Listen(c.info.Addr, (*host)(c), c.served)
	}
	return err
}

// Info describes the session.
func (c *Client) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.info
}

// Daemon returns the control connection, for calls that have no state here.
func (c *Client) Daemon() *wire.Peer { return c.daemon }

// Err says why the session ended, nil while it lasts.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// Close leaves the session. A driver's daemon gets drain to send the output
// that workers wrote.
func (c *Client) Close(drain time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	c.CloseContext(ctx)
}

// CloseContext is Close; the daemon has until the context ends to send the output.
func (c *Client) CloseContext(ctx context.Context) {
	if c.opts.Role != wire.RoleWorker && ctx.Err() == nil && c.Err() == nil {
		_ = c.daemon.Call(ctx, wire.TJobEnd, nil, nil) // a deaf daemon is no reason to stay
	}
	c.mu.Lock()
	c.takeDrops()
	c.shut(fault.New(fault.Closed, "the session was shut down"))
	if c.opts.Role == wire.RoleService {
		c.local.Detach()
	}
	c.mu.Unlock()
	c.closing(transport.Descriptor(c.daemon.Conn()))
	c.daemon.Close()
	c.release()
}

// fail ends the session because of err; mu held.
func (c *Client) fail(err error) { c.shut(err) }

func (c *Client) shut(why error) {
	if c.closed {
		return
	}
	c.tellMore()
	c.closed, c.why = true, why
	c.local.End(why)
	c.submitter.stop()
	c.poller.End()
	c.served.Refuse()
	f := fault.From(why)
	c.table.FailAll(f)
	c.table.EndRegistrationWaits()
	c.lessNeeded()
	c.table.ReleaseAllKept()
	if c.exec != nil {
		c.exec.EndSession()
	}
	c.notes.close(f.Message)
}

// release gives all descriptors back once nobody polls.
func (c *Client) release() {
	if c.poller != nil { // else it could not be made
		c.poller.StopBackground()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.poller != nil {
		c.poller.End()
		c.poller.AwaitNoLeader()
	}
	if c.listener != nil {
		c.listener.Close()
	}
	if c.poller != nil {
		c.poller.Close()
	}
	c.links.Close()
	c.served.Close()
	if c.async.fd >= 0 {
		c.closing(c.async.fd)
		unix.Close(c.async.fd)
		c.async.fd = -1
	}
	c.dropBegun()
	c.table.LeaveBatches()
	if c.trimTimer != nil {
		c.trimTimer.Stop()
	}
	c.local.Close()
}

func (c *Client) daemonGone(err error) {
	c.mu.Lock()
	was := c.closed
	c.shut(fault.New(fault.DaemonDied, "the daemon of this session (pid %d) is gone: %v", c.info.DaemonPid, err))
	c.mu.Unlock()
	if !was && c.opts.Role == wire.RoleWorker && c.opts.Exit != nil {
		c.opts.Exit(1)
	}
}
