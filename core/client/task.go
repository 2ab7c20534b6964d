package client

import (
	"unique"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/refs"
)

// Kinds of templates.
const (
	KindTask   = frame.KindTask
	KindMethod = frame.KindMethod
)

// CallsUntilLeak as Template.MaxCalls ends a worker whose device memory grows.
const CallsUntilLeak = -1

// Template is what the calls of one function with one set of options share.
type Template struct {
	Kind       int
	Name       string // for people
	FID        []byte // 16 bytes: hash of the pickled function
	Blob       []byte // the pickled function
	Method     string
	Returns    int
	MaxRetries int  // system failures; -1: without end
	RetryErrs  bool // exceptions too
	MaxCalls   int  // 0: no limit
	Resources  map[string]int64
	EnvKey     string
	Strategy   string
	Fallback   []*Template // alternatives: Resources and MaxCalls, and Name, FID and Blob of another function
	AfterMs    int64       // how long Resources are waited for before Fallback is looked at
	Enforce    bool        // end a worker that exceeds its gpu_memory
	MoreMemory bool        // a retry after the machine ran out of memory asks for twice as much
	Flow       Flow        // of a generator
	Group      string      // concurrency group in which a method runs, empty for the default one

	id    int
	class *class

	Forget           bool      // the program cannot call it any more, see forget.go
	finished, failed uint64    // of its tasks
	open             int       // tasks without an answer
	larger           *Template // what a retry with more memory runs as, once there was one

	// See retire.go.
	Number  int    // id, in a will
	ClassID uint32 // of class, in a will
	retired bool   // the program cannot call it any more
	recipes int    // that would run it again
	whole   unique.Handle[string]
	maker   uint32 // number of its name, see sites.go
}

// task is one submitted task or actor call that has no answer yet.
type task struct {
	tmpl     *Template
	first    uint64 // count of the first return
	returns  int32
	attempts       // what it has used of its retries, see retries.go
	waiting  int32 // arguments that are not ready
	fmt      uint8
	canceled bool
	counted  bool // in Client.unfinished
	failed   bool // its results are errors
	stored   bool // a result lies in the store
	aside    bool // runs again, and is not in its actor's queue yet
	seq      uint32
	since    uint32         // while it waits for arguments: the look that came last before; then see alternatives.go
	args     []byte         // envelope, unless argsRef
	argsRef  *refs.Object   // large arguments, in the arena
	deps     []*refs.Object // pinned
	nested   []*refs.Object // pinned
	on       *outConn       // where it runs
	actor    *actor
	place    int64        // in its queue, see fifo.go
	parent   uint64       // the call that submitted it, see children.go; 0: none
	stream   *stream      // of a generator
	recipe   *refs.Recipe // kept for its results
}

func (t *task) id(c *submitter) (id ids.Task) {
	o := ids.NewObject(t.first, c.self, c.info.Job, 1)
	copy(id[:], o[:ids.TaskSize])
	return id
}

// NewTemplate registers a template, until Retire.
func (c *Client) NewTemplate(t *Template) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, c.why
	}
	if err := t.check(); err != nil {
		return 0, err
	}
	if err := c.addTemplate(t); err != nil {
		return 0, err
	}
	return t.id, nil
}

// addTemplate gives the template its number and class, in order; mu held.
func (c *submitter) addTemplate(t *Template) error {
	t.id = c.newID(t)
	t.maker = c.fx.Maker(t)
	t.intern()
	if t.Kind == KindTask {
		if err := c.addFallback(t); err != nil {
			return err
		}
		t.class = c.classFor(t)
		t.class.templates++
	}
	return nil
}

// Call is one submission.
type Call struct {
	Template int
	Args     Value
	Deps     []ids.Object // top-level references, in the order of their slots
	Parent   uint64       // token of the running call that submits it; 0: not known, see children.go
}

// Submit starts a task and returns the count of its first return; the others
// follow. The program gets a reference to each.
func (c *Client) Submit(call *Call) (first ids.Object, returns int, err error) {
	total, _ := call.Args.layout()
	c.mu.Lock()
	defer c.mu.Unlock()
	tm, err := c.templateOf(call.Template)
	if err != nil {
		return first, 0, err
	}
	t, err := c.newTask(tm, call, total)
	if err != nil {
		return first, 0, err
	}
	c.submitter.submit(t)
	return ids.NewObject(t.first, c.self, c.info.Job, 1), int(t.returns), nil
}

// submit starts a task.
func (c *submitter) submit(t *task) {
	c.count(t)
	if t.waiting == 0 {
		c.enqueue(t)
	}
}

// templateOf returns a template of the session; mu held.
func (c *submitter) templateOf(id int) (*Template, error) {
	if c.closed {
		return nil, c.why
	}
	if id < 0 || id >= len(c.tmpls) || c.tmpls[id] == nil {
		return nil, fault.New(fault.BadRequest, "template %d does not exist in this session", id)
	}
	return c.tmpls[id], nil
}

// newTask makes the task, its returns, and pins what it needs; mu held, and
// released while large arguments are written to the arena.
func (c *Client) newTask(tm *Template, call *Call, total int) (*task, error) {
	if err := checkReferences(tm.Name, len(call.Deps)); err != nil {
		return nil, err
	}
	t := &task{tmpl: tm, returns: int32(tm.Returns), fmt: call.Args.Fmt, parent: c.parent(call.Parent)}
	if err := c.takeArguments(t, call, total); err != nil {
		return nil, err
	}
	c.submitter.newTask(t, call.Args.Site)
	return t, nil
}

// takeArguments gives a task what its call takes, pinned; mu held, and released while
// large arguments are written to the arena.
func (c *Client) takeArguments(t *task, call *Call, total int) error {
	switch {
	case total > MaxInline:
		o := c.table.New(0, 0)
		o.SetOrigin(call.Args.Site, t.tmpl.maker)
		c.table.Pin(o)
		c.mu.Unlock()
		err := c.storeValue(o.ID, &call.Args, total, false, true)
		c.mu.Lock()
		if err != nil {
			c.table.Unpin(o)
			c.carryOut()
			return err
		}
		c.table.PutStored(o, uint64(total), false)
		t.argsRef = o
	case call.Args.Fmt != FmtNone:
		t.args = call.Args.envelope(total)
	}
	for _, id := range call.Deps {
		o, err := c.find(id)
		if err != nil {
			c.unpinTask(t)
			return err
		}
		c.table.Pin(o)
		t.deps = append(t.deps, o)
	}
	for _, id := range call.Args.Nested {
		if o := c.table.Find(id); o != nil {
			c.table.Pin(o)
			t.nested = append(t.nested, o)
		}
	}
	return nil
}

// newTask gives a task, which has its arguments, its returns. The program gets a reference to each.
func (c *submitter) newTask(t *task, site uint32) {
	t.first = c.table.Peek()
	for i := range t.returns {
		o := c.table.New(uint32(i+1), 1)
		o.SetSource(t)
		o.SetOrigin(site, t.tmpl.maker)
	}
	if t.tmpl.Flow.Mode != 0 {
		c.newStream(t)
	}
	var bad *fault.Error
	for _, o := range t.deps {
		switch {
		case o.State() == refs.Pending:
			t.waiting++
			c.table.WatchBy(o, t)
		case o.State() == refs.Infeasible:
			t.waiting++
			c.table.WatchBy(o, t)
			bad = o.Fault()
		}
	}
	if bad != nil {
		c.infeasible(t, bad)
	}
	if t.waiting > 0 {
		t.since = c.looks
		c.watchPending()
	}
	t.stampQueued(c)
}

// depReady is told once for each argument that the task waited for.
func (c *submitter) depReady(t *task) {
	t.waiting--
	if t.waiting > 0 || t.canceled {
		return
	}
	switch {
	case t.aside:
		c.begin(t)
		return
	case t.actor != nil:
		c.pumpActor(t.actor)
		return
	}
	c.eachReturn(t, func(_ int, o *refs.Object) { c.table.Feasible(o) })
	c.enqueue(t)
}

// badDep returns an argument that is an exception or lost, nil if all are good.
func (t *task) badDep() *refs.Object {
	for _, o := range t.deps {
		if o.IsError() || o.State() == refs.Failed {
			o.MarkSeen()
			return o
		}
	}
	if t.argsRef != nil && t.argsRef.State() == refs.Failed {
		return t.argsRef
	}
	return nil
}

// eachReturn calls f with every return that somebody still holds and that the task makes.
func (c *submitter) eachReturn(t *task, f func(i int, o *refs.Object)) {
	for i := range t.returns {
		if o := c.table.FindOwned(t.first + uint64(i)); o != nil && t.makes(o) {
			f(int(i), o)
		}
	}
	switch {
	case t.stream == nil:
	case t.stream.again:
		c.eachLost(t, func(i uint64, o *refs.Object) { f(int(i)+1, o) })
	default:
		if o := c.head(t.stream); o != nil {
			f(int(t.stream.got)+1, o)
		}
	}
}

// failTask ends the task with a fault; mu held.
func (c *submitter) failTask(t *task, f *fault.Error) {
	c.freeWritten(t)
	t.failed = true
	held := false
	c.eachReturn(t, func(_ int, o *refs.Object) {
		held = true
		c.table.Fail(o, f)
	})
	if !held {
		c.fx.Unheld(t, f)
	}
	c.endTask(t)
}

// failLike ends the task as its argument ended.
func (c *submitter) failLike(t *task, dep *refs.Object) {
	t.failed = true
	c.eachReturn(t, func(_ int, o *refs.Object) {
		if dep.State() == refs.Failed {
			f := *dep.Fault()
			if f.Task == "" {
				f.Task = t.tmpl.Name
			}
			c.table.Fail(o, &f)
			return
		}
		c.table.FailAs(o, dep)
	})
	c.endTask(t)
}

// infeasible marks what the task returns; mu held.
func (c *submitter) infeasible(t *task, f *fault.Error) {
	held := false
	c.eachReturn(t, func(_ int, o *refs.Object) {
		held = true
		if o.State() == refs.Pending {
			c.table.Infeasible(o, f)
		}
	})
	if !held {
		c.fx.Unheld(t, f)
	}
}

// count adds a submitted task to those that have no answer; mu held.
func (c *submitter) count(t *task) {
	t.counted = true
	t.tmpl.open++
	c.unfinished++
}

// endTask lets go of what the task held.
func (c *submitter) endTask(t *task) {
	if t.counted {
		t.counted = false
		c.ends(t)
		if c.unfinished--; c.unfinished == 0 {
			c.fx.LessNeeded()
		}
	}
	if t.stream != nil {
		c.streamEnded(t)
	}
	if t.stored || t.recipe != nil {
		c.remember(t)
	}
	c.unpinTask(t)
	if a := t.actor; a != nil {
		c.callEnded(a)
	}
	if t.tmpl.retired {
		c.dropTemplate(t.tmpl)
	}
}

func (c *submitter) unpinTask(t *task) {
	if len(t.deps)+len(t.nested) > 0 && planted.Strikes(planted.KeptPin) {
		return
	}
	for _, o := range t.deps {
		c.table.Unpin(o)
	}
	for _, o := range t.nested {
		c.table.Unpin(o)
	}
	if t.argsRef != nil {
		c.table.Unpin(t.argsRef)
	}
	if t.recipe == nil {
		t.deps, t.nested, t.argsRef, t.args = nil, nil, nil, nil
	}
	c.table.CarryOut()
}

// appendTask encodes the task's frame, to run as tm says.
func (c *submitter) appendTask(b []byte, t *task, tm *Template) []byte {
	b, at := frame.BeginTask(b, t.seq, uint64(tm.id), t.first, t.stream != nil || t.recipe != nil)
	b = c.appendArgs(b, t)
	b = frame.AppendCount(b, len(t.deps))
	room := maxInFrame
	for _, o := range t.deps {
		if o.State() == refs.Inline {
			if room -= len(o.Value()); room < 0 {
				b = c.appendOwner(b, o)
				continue
			}
		}
		b = c.appendPlace(b, o)
	}
	switch {
	case t.stream != nil:
		b = c.appendResume(b, t)
	case t.recipe != nil:
		b = c.appendHad(b, t)
	}
	return frame.End(b, at)
}

// appendArgs encodes where the task's arguments are.
func (c *submitter) appendArgs(b []byte, t *task) []byte {
	if t.argsRef != nil {
		return c.appendPlace(b, t.argsRef)
	}
	return frame.AppendInline(b, t.args)
}

// appendPlace encodes where a ready object is, or was: one that is lost, or
// could not be computed again, the worker will not find.
func (c *submitter) appendPlace(b []byte, o *refs.Object) []byte {
	if o.State() == refs.Inline {
		return frame.AppendInline(b, o.Value())
	}
	return frame.AppendStored(b, &o.ID, o.Size(), c.addrOf(o))
}

// appendOwner encodes that the worker is to ask the object's owner for it.
func (c *submitter) appendOwner(b []byte, o *refs.Object) []byte {
	return frame.AppendStored(b, &o.ID, 0, c.addrOf(o))
}

// addrOf returns the socket of the object's owner.
func (c *submitter) addrOf(o *refs.Object) string {
	if o.Owned() {
		return c.info.Addr
	}
	return o.OwnerAddr()
}

// appendTemplate encodes the template's frame, with the function's code or without.
func appendTemplate(b []byte, t *Template, withBlob bool) []byte {
	x := frame.Template{
		ID: uint64(t.id), Kind: t.Kind, FID: t.FID, Name: t.Name, Method: t.Method, Returns: t.Returns, MaxCalls: t.MaxCalls,
		Once: t.Kind == KindTask && t.MaxRetries == 0, Flow: t.Flow, Group: t.Group,
	}
	if withBlob {
		if x.Blob = t.Blob; x.Blob == nil { // the code of a large class is elsewhere, and its worker asks for it
			x.Blob = []byte{}
		}
	}
	return frame.AppendTemplate(b, &x)
}

// PathPrefix marks the blob of a function that the worker imports instead of
// unpickling it: the prefix, then "module:name".
const PathPrefix = "\x00path:"

// EnvKey returns the key of the job's default environment.
func (c *Client) EnvKey() string { return c.opts.Job.Env.Key }
