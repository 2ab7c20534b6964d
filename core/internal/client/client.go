package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/borrows"
	"github.com/eagleray/eagleray/core/internal/calls"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/executor"
	"github.com/eagleray/eagleray/core/internal/guests"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/notice"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/sites"
	"github.com/eagleray/eagleray/core/internal/submit"
	"github.com/eagleray/eagleray/core/internal/transport"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Options say how to join a session.
type Options struct {
	Socket string        // the daemon's
	Role   string        // wire.RoleDriver, RoleWorker, RoleService or RoleSuccessor
	Token  string        // worker: of its fork order; successor: of its predecessor
	Job    wire.JobStart // driver and service
	// Context, when set, ends the attempt to join; it has no effect afterwards.
	Context context.Context
	// Drops, when set, hands over the references and views that the program
	// let go of since the last call. It must not block.
	Drops func() []Drop
	// Interrupt, when set, makes the worker's main thread look for a cancellation.
	Interrupt func()
	// BootTime, when set, returns the machine's boot time (CLOCK_BOOTTIME) faster than a system call.
	BootTime func() time.Duration
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
	// Unfetched, when set, is called for failures that nobody has fetched, in place
	// of a driver's notes and a worker's standard error. It must not block.
	Unfetched func(text string)
	// NotReady is set for a worker that has something to do before it takes work. It calls SayReady then.
	NotReady bool
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
	Addr       string // at which other processes reach this one
	DaemonPid  int
	Totals     wire.Totals
}

// objects is what the program does with objects. Its methods are the Client's.
type objects = access.Objects

// worker is the half of a worker's session that others call. Its methods are the Client's.
type worker = executor.Executor

// submitting is what the program calls. Its methods are the Client's.
type submitting = calls.Calls

// Client is one process's membership in a session.
type Client struct {
	objects
	worker
	submitting
	info  Info
	self  ids.Owner
	table *refs.Table

	submit   submit.Submitter // its mutex is mu
	opts     Options
	daemon   *wire.Peer
	listener *transport.Listener // nil: it could not be made, or is not taken over yet

	mu      sync.Mutex
	poller  *transport.Poller // of the task sockets; it releases mu while it waits
	local   nodestore.Store   // what this process has of the node's object store
	dialer  transport.Dialer
	borrows borrows.Messenger        // to and from the owners and borrowers of references
	links   *transport.Links         // control connections to other processes
	served  *transport.Served        // control connections of other processes
	guests  *guests.Guests           // connections to daemons of other nodes
	envs    map[string]*wire.EnvSpec // environments of classes that may run on other nodes, by key
	exec    *execute.Worker          // of a worker: the calls that it runs and those that wait
	die     func()                   // ends this process at once
	leaving *wait.Wait               // of a worker that ends and is still needed, or of its successor; see stays

	ending string // why the daemon ends, as it has said

	sites sites.Texts

	notes     notice.Notes
	stderr    notice.Stderr
	unfetched notice.Unfetched // failures that nobody looked at
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
		opts: o, die: killProcess,
	}
	copy(c.info.Worker[:], hr.WorkerID)
	c.becomes(c.info.Worker)
	c.dialer = transport.UnixDialer{Session: hr.SessionDir, Node: c.self.Node()}
	store := nodestore.Options{Mu: &c.mu, KeepsIdle: o.Role == wire.RoleWorker, Signals: o.Signals}
	if o.Role == wire.RoleDriver { // workers let go of memory when they have no work
		store.Rest = o.Rest
	}
	c.local.Init(store)
	c.initObjects()
	c.submit.Init((*host)(c), submit.Settings{
		Successor: o.Role == wire.RoleSuccessor, RetryDelay: time.Duration(max(0, c.number(retryDelayVar, 0))) * time.Millisecond, Lineage: c.newLineage(hr.ArenaBytes),
	})
	c.served = transport.NewServed(&c.mu, (*host)(c), o.Descriptor)
	c.links = transport.NewLinks(&c.mu, &c.borrows, c.dialer, (*host)(c).hello, o.Descriptor)
	c.borrows.Init(&c.mu, (*host)(c), c.links, c.served)
	c.guests = guests.New(&c.mu, (*host)(c), guests.Through(o.Socket), (*host)(c).guestHello, o.Descriptor)
	copy(c.info.Node[:], hr.NodeID)
	copy(c.info.Job[:], hr.JobID)
	c.info.Namespace = hr.Namespace
	c.info.SessionDir, c.info.NodeAddr, c.info.DaemonPid, c.info.Totals = hr.SessionDir, hr.NodeAddr, hr.DaemonPid, hr.Totals
	c.table = c.newTable()
	if err = c.open(fd, hr); err != nil {
		u.Close()
		c.release()
		return nil, err
	}
	c.notes.Init()
	c.sites.Line = o.Site
	if err := c.startTrace(); err != nil {
		u.Close()
		c.release()
		return nil, err
	}
	c.startUnfetched()
	if o.Role == wire.RoleWorker {
		c.takesCalls()
	}
	c.daemon = wire.NewPeer(u, c.fromDaemon, c.daemonGone)
	c.local.Serve(c.daemon)
	c.AskAt(c.daemon)
	for _, fd := range []int{c.AsyncFD(), transport.Descriptor(u)} {
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
		c.jobStarted(&js)
	}
	if o.Role == wire.RoleWorker && !o.NotReady {
		if err := c.SayReady(); err != nil {
			c.Close(0)
			return nil, err
		}
	}
	return c, nil
}

// SayReady tells the daemon that this worker takes work. It is for workers that have connected with Options.NotReady.
func (c *Client) SayReady() error {
	return c.daemon.Push(wire.TWorkerReady, wire.WorkerReady{Pid: os.Getpid()})
}

// initObjects gives what the program does with objects the parts that it uses.
func (c *Client) initObjects() {
	c.InitObjects(access.Parts{Mu: &c.mu, Store: &c.local, Borrows: &c.borrows, Submit: &c.submit, Sites: &c.sites, Signals: c.opts.Signals, Drops: c.opts.Drops})
	c.InitExecutor(&c.mu)
	c.InitCalls(calls.Parts{Mu: &c.mu, Objects: &c.objects, Store: &c.local, Submit: &c.submit})
}

// jobStarted makes this process part of a job, with a new table of objects.
func (c *Client) jobStarted(js *wire.JobStarted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	copy(c.info.Job[:], js.JobID)
	c.info.Namespace = js.Namespace
	c.table = c.newTable()
}

// becomes makes this process the owner whose id the worker's id has.
func (c *Client) becomes(w ids.Worker) {
	c.info.Worker, c.self = w, w.Owner()
	c.info.Addr = wire.AddressOf(c.self)
}

func (c *Client) open(arenaFD int, hr *wire.HelloReply) (err error) {
	if arenaFD < 0 {
		return fmt.Errorf("the daemon sent no arena")
	}
	c.local.SetArena(arenaFD, hr.ArenaBytes)
	if c.opts.Role != wire.RoleSuccessor { // of which there may be thousands in a process, and they read nothing
		if err := c.local.MapArena(); err != nil {
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
	if err = c.WaitWith(c.poller); err != nil {
		return err
	}
	if c.opts.Role != wire.RoleSuccessor { // it gets its predecessor's
		c.listener, err = transport.Listen(hr.Socket, (*host)(c), c.served)
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
	c.leave()
	c.closing(transport.Descriptor(c.daemon.Conn()))
	c.daemon.Close()
	c.release()
}

// leave ends the session here, before the daemon's connection is closed.
func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.TakeDrops()
	c.shut(fault.New(fault.Closed, "the session was shut down"))
	if c.opts.Role == wire.RoleService {
		c.local.Detach()
	}
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
	c.guests.Close()
	c.served.Close()
	c.closing(c.AsyncFD())
	c.CloseAsync()
	c.submit.ClosePage()
	c.table.LeaveBatches()
	c.local.Close()
}

func (c *Client) daemonGone(err error) {
	if c.shutWithoutDaemon(err) && c.opts.Role == wire.RoleWorker && c.opts.Exit != nil {
		c.opts.Exit(1)
	}
}

// shutWithoutDaemon ends the session whose daemon is gone, and reports whether the session had lasted until then.
func (c *Client) shutWithoutDaemon(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	lasted := !c.Closed()
	if c.ending != "" {
		err = errors.New(c.ending)
	}
	c.shut(fault.New(fault.DaemonDied, "the daemon of this session (pid %d) is gone: %v", c.info.DaemonPid, err))
	return lasted
}

// daemonEnds notes why the daemon ends. Its connection ends next.
func (c *Client) daemonEnds(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = reason
}
