package calls

import (
	"sync"

	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// PathPrefix marks the blob of a function that the worker imports instead of
// unpickling it: the prefix, then "module:name".
const PathPrefix = "\x00path:"

// Parts are the parts of a session that Calls uses.
type Parts struct {
	Mu      *sync.Mutex // the session's
	Objects *access.Objects
	Store   *nodestore.Store
	Submit  *submit.Submitter
}

// Calls is what a program calls and cancels. A session embeds it.
type Calls struct {
	mu      *sync.Mutex
	objects *access.Objects
	table   *refs.Table
	local   *nodestore.Store
	submit  *submit.Submitter
	exec    *execute.Worker // nil: this process is no worker
}

// InitCalls makes a zero Calls usable, but for the table.
func (x *Calls) InitCalls(p Parts) {
	x.mu, x.objects, x.local, x.submit = p.Mu, p.Objects, p.Store, p.Submit
}

// CallWith gives the table of the process's objects. A session may join again: a driver when its job begins, a successor
// when it takes a process over.
func (x *Calls) CallWith(t *refs.Table) { x.table = t }

// CallsOf says that this process is a worker, whose tasks submit others.
func (x *Calls) CallsOf(w *execute.Worker) { x.exec = w }
