package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/arguments"
	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/leases"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/templates"
)

// Template is what the calls of one function with one set of options share. Its class is
// written out because the compiler (Go 1.26) fails on an alias of an alias here.
type Template = templates.Template[leases.Class[Task, Channel]]

// Task is one submitted task or actor call that has no answer yet.
type Task struct {
	Template       *Template
	First          uint64 // count of the first return
	Returns        int32
	retry.Attempts       // what it has used of its retries; only spend writes it
	Waiting        int32 // arguments that are not ready
	fmt            uint8
	Canceled       bool
	counted        bool // in Submitter.Open
	failed         bool // its results are errors
	stored         bool // a result lies in the store
	aside          bool // runs again, and is not in its actor's queue yet
	moving         bool // its arguments move to the arena
	Seq            uint32
	Since          uint32 // while it waits for arguments: the look that came last before; then when it was ready to run, see core/internal/leases/due.go
	arguments.Arguments
	on        *Channel // where it runs
	actor     *Actor
	place     int64                 // in its queue, see taskqueue.go
	parent    uint64                // the call that submitted it, see core/internal/calls/children.go; 0: none
	Generator *generators.Generator // of a generator
	recipe    *refs.Recipe          // kept for its results
	why       *templates.Why        // why it has failed
}

// Delay is the time for which a task is in no queue before it runs again.
type Delay struct {
	Timer Timer
	since time.Time
	until time.Time
	why   string
}

// discarding is a task whose exception is being cleared away. The fields say
// what is still to be done; next does it.
type discarding struct {
	c      *Submitter
	t      *Task
	stored bool // it lies in the store
	wait   time.Duration
}

func (t *Task) ID(c *Submitter) (id ids.Task) {
	o := ids.NewObject(t.First, c.Self, c.Job, 1)
	copy(id[:], o[:ids.TaskSize])
	return id
}

// Maker is the number of the name of the task's template, for the census.
func (t *Task) Maker() uint32 { return t.Template.Maker() }

// makes reports whether the task, which runs, is to give the object its value. A
// run for lost results makes those that were lost when it began, and no others:
// another one may have been reported lost meanwhile, while its copy is there, and
// an item may be one that the first run of its generator is to yield.
func (t *Task) makes(o *refs.Object) bool {
	second := t.recipe != nil || t.Generator != nil && t.Generator.Second()
	return !second || o.State().Ready() || o.Source() == t
}

// Count adds a submitted task to those that have no answer; mu held.
func (c *Submitter) Count(t *Task) {
	t.counted = true
	t.Template.Submitted()
	c.Open++
}
