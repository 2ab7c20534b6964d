package client

import (
	"encoding/binary"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/wire"
)

// Patience of a worker.
const (
	blockedAfter = time.Millisecond     // a task that waits so long gives its CPUs back
	bounceAfter  = 5 * time.Millisecond // a task that runs so long sends those behind it back
)

// What NextTask gives.
const (
	ItemTask = iota + 1
	ItemMethod
	ItemAssign
	ItemActor
	ItemExit
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
	Blob    []byte // ItemAssign: the assignment, as a msgpack map
	Actor   *wire.ActorStart
	Reason  string // ItemExit
}

// RemoteTemplate is a caller's template.
type RemoteTemplate struct {
	Kind     int
	FID      [16]byte
	Name     string
	Method   string
	Returns  int
	MaxCalls int
	Once     bool // must not run twice: answers leave before the next one starts
}

// place is where an argument is.
type place struct {
	env  []byte
	id   ids.Object
	size uint64
	addr string
}

// call is a task that arrived.
type call struct {
	in      *inConn
	seq     uint32
	tmpl    *RemoteTemplate
	task    ids.Task
	args    place
	deps    []place
	assign  []byte // instead of a task
	actor   *wire.ActorStart
	started time.Time
	cancel  bool
	owned   []*own.Object // borrowed for a constructor's arguments
}

// executor is the worker's side: calls in, answers out.
type executor struct {
	c        *Client
	queue    []*call
	waiting  []*waiter        // threads in NextTask
	calls    map[uint64]*call // running
	token    uint64
	busy     int // running
	blocked  int // of them, waiting for objects
	fns      map[[16]byte][]byte
	held     map[ids.Owner]map[ids.Task][]*own.Object // replies not yet received
	actorID  ids.Actor
	inc      uint64
	ended    string            // why no more work comes
	canceled *call             // asked to end, not yet seen by the program
	started  time.Time         // of the newest running task
	last     *RemoteTemplate   // what ran before
	early    map[ids.Task]bool // cancelled before they arrived
	conns    map[*inConn]bool
	draining bool
}

func newExecutor(c *Client) *executor {
	return &executor{c: c, calls: map[uint64]*call{}, fns: map[[16]byte][]byte{}, held: map[ids.Owner]map[ids.Task][]*own.Object{}, conns: map[*inConn]bool{}, early: map[ids.Task]bool{}}
}

// inConn is a socket through which somebody calls us.
type inConn struct {
	conn
	caller ids.Owner
	addr   string // the caller's own socket
	lease  bool
	tmpls  map[uint64]*RemoteTemplate
}

func (e *executor) running() bool { return e.busy > 0 }

// welcome adopts an accepted task connection.
func (e *executor) welcome(u *net.UnixConn, h *wire.Hello) {
	rc, err := u.SyscallConn()
	fd := -1
	if err == nil {
		_ = rc.Control(func(f uintptr) { fd, err = unix.FcntlInt(f, unix.F_DUPFD_CLOEXEC, 0) })
	}
	u.Close()
	if err != nil || fd < 0 {
		return
	}
	c := e.c
	in := &inConn{conn: conn{c: c, fd: fd}, addr: h.Addr, lease: h.Role == wire.RoleLease, tmpls: map[uint64]*RemoteTemplate{}}
	copy(in.caller[:], h.OwnerID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		unix.Close(fd)
		return
	}
	e.conns[in] = true
	if err := c.adopt(in); err != nil {
		c.fail(err)
		return
	}
	// What came with the hello is read now: the poller was not asked yet.
	if c.leader == nil {
		c.arm()
	}
}

func (in *inConn) frames(b []byte) (int, error) {
	used := 0
	for len(b)-used >= 4 {
		n := int(binary.LittleEndian.Uint32(b[used:]))
		if n > wire.MaxData {
			return used, fmt.Errorf("%w: %d bytes", wire.ErrFrameTooLarge, n)
		}
		if len(b)-used-4 < n {
			break
		}
		if err := in.frame(append([]byte(nil), b[used+4:used+4+n]...)); err != nil {
			return used, err
		}
		used += 4 + n
	}
	return used, nil
}

func (in *inConn) frame(b []byte) error {
	e := in.c.exec
	r := wire.NewReader(b)
	r.Array()
	switch op := wire.Op(r.Uint()); op {
	case wire.OpAssign:
		e.push(&call{in: in, assign: r.Bin()})
	case wire.OpTemplate:
		in.template(&r)
	case wire.OpTask:
		k, err := in.parseTask(&r)
		if err != nil {
			return err
		}
		if e.early[k.task] {
			delete(e.early, k.task)
			k.cancel = true
		}
		if in.lease && (e.blocked > 0 || e.busy > 0 && time.Since(e.started) > bounceAfter) {
			in.bounce([]*call{k})
			break
		}
		e.push(k)
	default:
		return fmt.Errorf("%w: op %d from a caller", wire.ErrBadFrame, op)
	}
	return r.Err()
}

func (in *inConn) template(r *wire.Reader) {
	id := r.Uint()
	t := &RemoteTemplate{Kind: int(r.Uint())}
	copy(t.FID[:], r.Bin())
	t.Name, t.Method = r.Str(), r.Str()
	t.Returns, t.MaxCalls = int(r.Uint()), int(r.Uint())
	t.Once = r.Uint() == 1
	if blob := r.Bin(); blob != nil {
		in.c.exec.fns[t.FID] = blob
	}
	in.tmpls[id] = t
}

func (in *inConn) parseTask(r *wire.Reader) (*call, error) {
	k := &call{in: in, seq: uint32(r.Uint())}
	tid, first := r.Uint(), r.Uint()
	if k.tmpl = in.tmpls[tid]; k.tmpl == nil {
		return nil, fmt.Errorf("%w: task of template %d, which was not sent", wire.ErrBadFrame, tid)
	}
	id := ids.NewObject(first, in.caller, in.c.info.Job, 1)
	copy(k.task[:], id[:])
	var err error
	if k.args, err = parsePlace(r); err != nil {
		return nil, err
	}
	n := r.Array()
	for range n {
		p, err := parsePlace(r)
		if err != nil {
			return nil, err
		}
		k.deps = append(k.deps, p)
	}
	return k, r.Err()
}

func parsePlace(r *wire.Reader) (p place, err error) {
	r.Array()
	switch kind := r.Uint(); kind {
	case wire.PlaceInline:
		p.env = r.Bin()
		if p.env == nil {
			p.env = []byte{}
		}
	case wire.PlaceStore:
		if p.id, err = ids.ParseObject(r.Bin()); err != nil {
			return p, fmt.Errorf("%w: %v", wire.ErrBadFrame, err)
		}
		p.size, p.addr = r.Uint(), r.Str()
	default:
		return p, fmt.Errorf("%w: place %d", wire.ErrBadFrame, kind)
	}
	return p, r.Err()
}

// gone: the caller left. What it asked for and has not begun is dropped.
func (in *inConn) gone(error) {
	e := in.c.exec
	delete(e.conns, in)
	keep := e.queue[:0]
	for _, k := range e.queue {
		if k.in != in || k.in == nil {
			keep = append(keep, k)
		}
	}
	e.queue = keep
}

// push queues a call and wakes a thread that waits for one.
func (e *executor) push(k *call) {
	e.queue = append(e.queue, k)
	if len(e.waiting) > 0 {
		w := e.waiting[0]
		e.waiting = e.waiting[1:]
		e.c.finish(w)
	}
}

// bounce gives calls that have not started back to their caller.
func (in *inConn) bounce(ks []*call) {
	b, at := wire.BeginFrame(in.out)
	b = wire.AppendArray(b, 2)
	b = wire.AppendUint(b, uint64(wire.OpReturned))
	b = wire.AppendArray(b, len(ks))
	for _, k := range ks {
		b = wire.AppendUint(b, uint64(k.seq))
	}
	in.out = wire.EndFrame(b, at)
	in.c.flush(&in.conn)
}

// bounceAll gives back every task of a lease that has not started.
func (e *executor) bounceAll() {
	back := map[*inConn][]*call{}
	keep := e.queue[:0]
	for _, k := range e.queue {
		if k.in != nil && k.in.lease && k.tmpl != nil && !k.in.dead {
			back[k.in] = append(back[k.in], k)
		} else {
			keep = append(keep, k)
		}
	}
	clear(e.queue[len(keep):])
	e.queue = keep
	for in, ks := range back {
		in.bounce(ks)
	}
}

// overdue is how long the background may sleep before a long task's followers go back.
func (e *executor) overdue() time.Duration {
	if e.busy == 0 || len(e.queue) == 0 {
		return backgroundSlice
	}
	return max(0, bounceAfter-time.Since(e.started))
}

func (e *executor) bounceOverdue() {
	if e.busy > 0 && len(e.queue) > 0 && time.Since(e.started) > bounceAfter {
		e.bounceAll()
	}
}

// block: the running task waits for objects. Its CPUs are lent out and what
// is queued behind it goes back; mu held.
func (e *executor) block() {
	e.blocked++
	if e.blocked > 1 {
		return
	}
	e.bounceAll()
	e.tellState(wire.OpBlocked)
	e.c.push(wire.TBlocked, nil)
}

func (e *executor) unblock() {
	e.blocked--
	if e.blocked > 0 {
		return
	}
	e.tellState(wire.OpUnblocked)
	e.c.push(wire.TUnblocked, nil)
}

func (e *executor) tellState(op wire.Op) {
	for in := range e.conns {
		if !in.lease || in.dead {
			continue
		}
		b, at := wire.BeginFrame(in.out)
		b = wire.AppendArray(b, 1)
		b = wire.AppendUint(b, uint64(op))
		in.out = wire.EndFrame(b, at)
		e.c.flush(&in.conn)
	}
}

// stop ends the worker's loop.
func (e *executor) stop(reason string) {
	if e.ended == "" {
		e.ended = reason
	}
	for _, w := range e.waiting {
		e.c.finish(w)
	}
	e.waiting = nil
}

// becomeActor queues the constructor.
func (e *executor) becomeActor(s *wire.ActorStart) error {
	in := &inConn{conn: conn{c: e.c, fd: -1, dead: true}, tmpls: map[uint64]*RemoteTemplate{}}
	k := &call{in: in, actor: s}
	b := s.Spec
	for i := range 2 {
		if len(b) < 4 || len(b)-4 < int(binary.LittleEndian.Uint32(b)) {
			return fault.New(fault.BadRequest, "actor %s: malformed specification", s.ClassName)
		}
		n := int(binary.LittleEndian.Uint32(b))
		r := wire.NewReader(b[4 : 4+n])
		r.Array()
		op := wire.Op(r.Uint())
		switch {
		case i == 0 && op == wire.OpTemplate:
			in.template(&r)
		case i == 1 && op == wire.OpTask:
			t, err := in.parseTask(&r)
			if err != nil {
				return err
			}
			t.actor = s
			k = t
		default:
			return fault.New(fault.BadRequest, "actor %s: malformed specification", s.ClassName)
		}
		b = b[4+n:]
	}
	copy(e.actorID[:], s.ActorID)
	e.inc = s.Incarnation
	e.push(k)
	return nil
}

// NextTask waits for something to do. nil: the timeout passed.
func (c *Client) NextTask(timeout time.Duration) (*Item, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exec
	deadline := deadlineOf(timeout)
	for {
		if len(e.queue) > 0 {
			k := e.queue[0]
			e.queue[0] = nil
			e.queue = e.queue[1:]
			it, err := e.begin(k)
			if it == nil && err == nil {
				continue
			}
			return it, err
		}
		if e.draining && e.busy == 0 {
			e.ended = "released"
		}
		if e.ended != "" || c.closed {
			c.flushDirty()
			return &Item{Kind: ItemExit, Reason: e.ended}, nil
		}
		w := newWaiter()
		e.waiting = append(e.waiting, w)
		c.await(w, deadline)
		if !w.done {
			for i, x := range e.waiting {
				if x == w {
					e.waiting = append(e.waiting[:i], e.waiting[i+1:]...)
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
	if k.in.dead && k.actor == nil {
		return nil, nil
	}
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
	if in := k.in; len(in.out) > 0 && (k.tmpl.Once || k.tmpl != e.last || k.started.Sub(in.flushed) > batchFor) {
		c.flush(&in.conn)
		in.flushed = k.started
	}
	e.last = k.tmpl
	if k.cancel {
		e.answer(it.Token, k, nil, wire.ReplyCancelled)
		return nil, nil
	}
	var err error
	if it.Args, err = e.open(k, k.args); err == nil {
		for _, p := range k.deps {
			var f Found
			if f, err = e.open(k, p); err != nil {
				break
			}
			it.Deps = append(it.Deps, f)
		}
	}
	if err != nil {
		e.answerFault(it.Token, k, fault.From(err))
		return nil, nil
	}
	c.arm() // somebody has to look after the sockets while it runs
	return it, nil
}

// open finds an argument; mu held, released while asking.
func (e *executor) open(k *call, p place) (Found, error) {
	if p.env != nil {
		return Found{Envelope: p.env}, nil
	}
	c := e.c
	if p.size == 0 { // not known to be ready when it was sent
		o := c.borrow(p.id, p.addr)
		c.table.Pin(o)
		k.owned = append(k.owned, o)
		c.mu.Unlock()
		f, err := c.Get(p.id, -1)
		c.mu.Lock()
		if err != nil {
			return Found{}, err
		}
		return *f, nil
	}
	v, err := c.pin(p.id)
	if err != nil {
		return Found{}, err
	}
	v.inUse++
	b, err := c.arena.Slice(v.off, v.size)
	if err != nil {
		return Found{}, err
	}
	return Found{Envelope: b, View: v.n}, nil
}

// Function returns a pickled function or class.
func (c *Client) Function(fid [16]byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.exec.fns[fid]
	if !ok {
		return nil, fault.New(fault.Internal, "function %x was not sent", fid)
	}
	return b, nil
}
