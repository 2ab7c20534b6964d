package calls

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// How the program submits a task: the call's arguments become the task's, and large ones are written to the store.

// NewTemplate registers a template, until Retire.
func (x *Calls) NewTemplate(t *submit.Template) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.objects.Closed() {
		return 0, x.objects.Why()
	}
	return x.submit.NewTemplate(t)
}

// Call is one submission.
type Call struct {
	Template int
	Args     envelope.Value
	Deps     []ids.Object // top-level references, in the order of their slots
	Parent   uint64       // token of the running call that submits it; 0: not known, see children.go
}

// Submit starts a task and returns the count of its first return; the others
// follow. The program gets a reference to each.
func (x *Calls) Submit(call *Call) (first ids.Object, returns int, err error) {
	total := call.Args.Size()
	x.mu.Lock()
	defer x.mu.Unlock()
	tm, err := x.submit.TemplateOf(call.Template)
	if err != nil {
		return first, 0, err
	}
	t, err := x.newTask(tm, call, total)
	if err != nil {
		return first, 0, err
	}
	x.submit.Submit(t)
	first, returns = x.submit.ReturnsOf(t)
	return first, returns, nil
}

// newTask makes the task, its returns, and pins what it needs; mu held, and
// released while large arguments are written to the arena.
func (x *Calls) newTask(tm *submit.Template, call *Call, total int) (*submit.Task, error) {
	if err := checkReferences(tm.Name, len(call.Deps)); err != nil {
		return nil, err
	}
	t := x.submit.NewCall(tm, call.Args.Fmt, x.parent(call.Parent))
	if err := x.takeArguments(t, call, total); err != nil {
		return nil, err
	}
	x.submit.MakeReturns(t, call.Args.Site)
	return t, nil
}

// takeArguments gives a task what its call takes, pinned; mu held, and released while
// large arguments are written to the arena.
func (x *Calls) takeArguments(t *submit.Task, call *Call, total int) error {
	switch {
	case total > frame.MaxInline:
		o := x.table.New(0, 0)
		o.SetOrigin(call.Args.Site, t.Maker())
		x.table.Pin(o)
		if err := x.local.WriteValue(o.ID, &call.Args, total, nodestore.Writing{Program: true}); err != nil {
			x.table.Unpin(o)
			x.table.CarryOut()
			return err
		}
		x.table.PutStored(o, uint64(total), false)
		t.SetStoredArguments(o)
	case call.Args.Fmt != uint8(store.FormatNone):
		t.SetArguments(call.Args.Envelope(total))
	}
	for _, id := range call.Deps {
		o, err := x.objects.Find(id)
		if err != nil {
			x.submit.UnpinTask(t)
			return err
		}
		x.table.Pin(o)
		t.AddDependency(o)
	}
	for _, id := range call.Args.Nested {
		if o := x.table.Find(id); o != nil {
			x.table.Pin(o)
			t.AddNested(o)
		}
	}
	return nil
}

// checkReferences refuses a call whose message would be too large.
func checkReferences(name string, n int) error {
	if n > frame.MaxReferences {
		return fault.New(fault.BadRequest, "a call of %.60s takes %d references as arguments, and at most %d are allowed: pass them in a list", name, n, frame.MaxReferences)
	}
	return nil
}

// Retire notes that the program cannot call a template any more.
func (x *Calls) Retire(id int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t, err := x.submit.TemplateOf(id); err == nil {
		x.submit.RetireTemplate(t)
	}
}

// Forget notes that the program cannot call a function any more. When the last
// of its tasks has ended, the workers release the function.
func (x *Calls) Forget(fid []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.objects.Closed() {
		x.submit.ForgetFunction(fid)
	}
}
