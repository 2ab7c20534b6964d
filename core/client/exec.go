package client

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/progress"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/trace"
	"github.com/eagleray/eagleray/core/transport"
	"github.com/eagleray/eagleray/core/wait"
	"github.com/eagleray/eagleray/core/wire"
)

// Patience of a worker.
const (
	blockedAfter = time.Millisecond       // a task that waits so long gives its CPUs back
	bounceAfter  = 4 * time.Millisecond   // a task that runs so long, and longer than its like, sends those behind it back
	bounceAtMost = 40 * time.Millisecond  // however long its like run
	lentFor      = time.Millisecond       // what was given back is taken again after so long a run
	lendEvery    = 100 * time.Millisecond // a long task gives its CPUs back this often, if it waits at all
)

// What NextTask gives.
const (
	ItemTask = iota + 1
	ItemMethod
	ItemAssign
	ItemActor
	ItemExit
	ItemForget
)

// Item is one thing for the worker's program to do.
type Item struct {
	Kind    int
	Token   uint64 // for Reply
	Tmpl    *RemoteTemplate
	Args    Found
	Deps    []Found
	Returns int
	TaskID  ids.Task
	Blob    []byte // ItemAssign: the assignment, as a msgpack map; ItemForget: a function's id
	Actor   *wire.ActorStart
	Reason  string // ItemExit
}

// call is a task that arrived. There is one for each, so the order of its fields keeps it small: see TestCall_Size_FitsTheBlockOf288Bytes.
type call struct {
	in       *inConn
	tmpl     *RemoteTemplate
	task     ids.Task
	seq      uint32
	cancel   bool
	taken    bool // it has begun, was sent back, or was answered in the queue
	again    bool // it runs again, for results that were lost
	parked   bool // it waits in the queue for an argument that was lost
	returned bool // by the program
	args     frame.Place
	deps     []frame.Place
	assign   []byte // instead of a task
	actor    *wire.ActorStart
	started  time.Time
	owned    []*refs.Object // borrowed for a constructor's arguments
	feed     *feed          // of a generator
	size     int            // of the backlog
	had      map[int]bool   // results that the caller has: it runs again for others
	misses   int            // how often it has
	stop     chan struct{}  // closed when it is cancelled while its answer is written; nil: nobody waits
}

// stopped returns what is closed when the call is cancelled from now on; mu held.
func (k *call) stopped() <-chan struct{} {
	if k.stop == nil {
		k.stop = make(chan struct{})
		if k.cancel && k.tmpl.Kind == KindTask { // whose answer nobody wants
			close(k.stop)
		}
	}
	return k.stop
}

// executor is the worker's side: calls in, answers out.
type executor struct {
	c *Client
	lane
	groups   map[string]*lane // of an actor with concurrency groups
	calls    map[uint64]*call // running
	token    uint64
	busy     int       // running
	blocked  int       // of them, waiting for objects
	lent     bool      // its CPUs are others'
	lentAt   time.Time // since when, or when last
	resumed  time.Time // when blocked became 0
	taker    *time.Timer
	fns      map[[16]byte]*function
	actorID  ids.Actor
	inc      uint64
	ended    string                 // why no more work comes
	leaves   bool                   // the program's main loop knows that
	canceled []*call                // asked to end, not yet seen by the program
	started  time.Time              // of the newest running task
	last     *RemoteTemplate        // what ran before
	early    map[ids.Task]time.Time // cancelled before they arrived
	conns    map[*inConn]bool
	draining bool
	leaving  bool         // the program ends the actor: nothing begins any more
	leavers  []*wait.Wait // threads that wait until the last call has ended
	unread   bool         // draining, and something may not have been read yet
	feedMax  uint64       // items of all generators together that callers may leave untaken; 0: no limit

	page    *progress.Writer // of an actor that may restart
	forgets [][]byte         // functions that the program is to let go of
	backlog backlog
	ran     ranTasks
	die     func() // ends the process at once
}

func newExecutor(c *Client) *executor {
	return &executor{c: c, backlog: backlog{most: maxBacklog}, calls: map[uint64]*call{}, fns: map[[16]byte]*function{}, conns: map[*inConn]bool{}, early: map[ids.Task]time.Time{}, die: killProcess}
}

func (e *executor) running() bool { return e.busy > 0 }

// push queues a call and wakes a thread that waits for one.
func (e *executor) push(k *call) {
	l := e.laneOf(k)
	l.queue = append(l.queue, k)
	l.pushed++
	if len(l.waiting) > 0 {
		w := l.waiting[0]
		l.waiting = l.waiting[1:]
		e.c.poller.Finish(w)
	} else if l.serve != nil {
		l.serve()
		l.serve = nil
	}
}

// stop ends the worker's loop.
func (e *executor) stop(reason string) {
	if e.ended == "" {
		e.ended = reason
	}
	e.eachLane(func(l *lane) { l.wakeAll(e.c) })
	e.leaveIfLast()
	e.c.wakeLoop()
}

// becomeActor makes this worker an actor's. An actor ends at once when it is
// killed, and what its process owns ends with it. So a worker that others still
// need, for what its tasks have put or submitted, declines: it hands that to an
// heir and ends, and the daemon gives the actor another worker.
func (c *Client) becomeActor(s *wire.ActorStart) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.needed(time.Now()) {
		c.exec.stop(wire.ExitDeclines)
		return nil
	}
	c.mu.Unlock()
	page := c.askPage(s.Restarts)
	c.mu.Lock()
	c.exec.page = page
	return c.exec.becomeActor(s)
}

// becomeActor queues the constructor. The specification is the class's template
// and the constructor's call; an alternative's template takes the first one's place.
func (e *executor) becomeActor(s *wire.ActorStart) error {
	in := &inConn{Conn: transport.Closed(e.c.poller), c: e.c, job: e.c.info.Job, tmpls: map[uint64]*RemoteTemplate{}}
	var k *call
	read := func(f []byte) error {
		r, op, n, err := frame.Open(f)
		switch {
		case err != nil:
			return err
		case op == wire.OpTemplate:
			return in.template(&r)
		case op == wire.OpTask && k == nil:
			t, err := in.parseTask(&r, n)
			if err != nil {
				return err
			}
			t.actor = s
			k = t
			return nil
		}
		return fmt.Errorf("%w: actor %s: malformed specification", wire.ErrBadFrame, s.ClassName)
	}
	b := s.Spec
	if len(s.Template) > 0 {
		if len(b) < 4 || len(b)-4 < int(binary.LittleEndian.Uint32(b)) {
			return fault.New(fault.BadRequest, "actor %s: malformed specification", s.ClassName)
		}
		b = slices.Concat(s.Template, b[4+binary.LittleEndian.Uint32(b):])
	}
	used, err := frame.Each(b, read)
	if err == nil && (k == nil || used != len(b)) {
		err = fmt.Errorf("%w: actor %s: malformed specification", wire.ErrBadFrame, s.ClassName)
	}
	if err != nil {
		return fault.New(fault.BadRequest, "%s", err)
	}
	copy(e.actorID[:], s.ActorID)
	e.inc = s.Incarnation
	e.push(k)
	return nil
}

// NextTask waits for something to do. nil: the timeout passed. A thread names the concurrency group
// whose calls it runs; that of the default group, whose name is empty, gets all else.
func (c *Client) NextTask(timeout time.Duration, group string) (*Item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	l := &e.lane
	if group != "" {
		if l = e.groups[group]; l == nil {
			return nil, fault.New(fault.BadRequest, "there is no concurrency group %q here", group)
		}
	}
	deadline := deadlineOf(timeout)
	for {
		if n := len(e.forgets); n > 0 && e.ended == "" && group == "" {
			fid := e.forgets[n-1]
			e.forgets = e.forgets[:n-1]
			return &Item{Kind: ItemForget, Blob: fid}, nil
		}
		if k := e.next(l); k != nil {
			e.unqueued(k)
			it, err := e.begin(k)
			if it == nil && err == nil {
				continue
			}
			return it, err
		}
		if e.drained() && e.ended == "" {
			e.ended = "released"
		}
		if e.ended != "" || c.closed {
			e.leaves = e.leaves || group == ""
			c.poller.SendAll()
			return &Item{Kind: ItemExit, Reason: e.ended}, nil
		}
		if len(l.queue) == 0 {
			l.index.calls = nil
		}
		c.poller.SendAll()
		w := wait.New()
		l.waiting = append(l.waiting, w)
		c.poller.Await(w, deadline)
		if !w.Over() {
			for i, x := range l.waiting {
				if x == w {
					l.waiting = slices.Delete(l.waiting, i, i+1)
					break
				}
			}
			if !c.closed {
				return nil, nil
			}
		}
	}
}

// begin turns a call into an item: its arguments are fetched. nil, nil: the caller has left.
func (e *executor) begin(k *call) (*Item, error) {
	c := e.c
	if k.assign != nil {
		return &Item{Kind: ItemAssign, Blob: k.assign}, nil
	}
	if k.in.Closed() && k.actor == nil || k.taken {
		return nil, nil
	}
	k.taken = true
	it := &Item{Kind: ItemTask, Tmpl: k.tmpl, Returns: k.tmpl.Returns, TaskID: k.task, Actor: k.actor}
	switch {
	case k.actor != nil:
		it.Kind = ItemActor
	case k.tmpl.Kind == KindMethod:
		it.Kind = ItemMethod
	}
	e.token++
	it.Token = e.token
	e.calls[it.Token] = k
	e.busy++
	k.started = time.Now()
	e.started = k.started
	// Answers of earlier calls are not to be lost with this one. Calls of one
	// function come in quick succession: theirs may share a write.
	if in := k.in; in.Unsent() > 0 && (k.tmpl.Once || k.tmpl != e.last || k.started.Sub(in.flushed) > batchFor) {
		in.Flush()
		in.flushed = k.started
		in.Sent()
	}
	e.last = k.tmpl
	if k.feed != nil {
		if k.feed.quit {
			e.answer(it.Token, k, []Value{{Fmt: FmtNone}}, 0)
			return nil, nil
		}
		it.Returns = generatorReturns(k.tmpl.Flow)
	}
	if k.actor != nil {
		if err := e.fetchCode(k); err != nil {
			e.answerFault(it.Token, k, fault.From(err))
			return nil, nil
		}
	}
	held := c.pinArguments(k)
	lost, err := e.arguments(k, it)
	for _, v := range held {
		c.local.Release(v)
	}
	switch {
	case lost == nil:
	case k.in.lease:
		e.giveLost(it.Token, k, lost)
		return nil, nil
	default:
		e.park(it.Token, k, lost)
		return nil, nil
	}
	if err != nil {
		if k.actor != nil {
			err = lacksArgument(k, err)
		}
		e.answerFault(it.Token, k, fault.From(err))
		return nil, nil
	}
	if e.laneOf(k).parks == 0 || !k.again { // else it overtakes what has not begun
		if e.page != nil {
			k.in.begins(k)
		}
		k.in.mark.Set(k.seq)
	}
	k.stamp(trace.Begun, k.in.FD())
	c.poller.ArmLater(len(e.queue) > 0) // somebody has to look after the sockets while it runs
	return it, nil
}

// open finds an argument; mu held, released while asking.
func (e *executor) open(k *call, p frame.Place) (Found, error) {
	if p.Envelope != nil {
		return Found{Envelope: p.Envelope}, nil
	}
	c := e.c
	if p.Size == 0 { // not known to be ready when it was sent
		o := c.borrow(p.ID, p.Owner)
		c.table.Pin(o)
		k.owned = append(k.owned, o)
		return c.getHere(p.ID)
	}
	v, err := c.pin(p.ID, time.Time{})
	if err != nil {
		return Found{}, err
	}
	b, n, err := c.local.Open(v)
	if err != nil {
		c.local.Unhold(v)
		return Found{}, err
	}
	return Found{Envelope: b, View: n}, nil
}

// Function returns a pickled function or class, and keeps it until Unload.
func (c *Client) Function(fid [16]byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.exec.fns[fid]
	if f == nil || f.blob == nil {
		return nil, fault.New(fault.Internal, "function %x was not sent", fid)
	}
	f.loaded = true
	return f.blob, nil
}
