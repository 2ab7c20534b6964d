package submit

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/waiting"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// quiet is a session in which nothing happens: what its submitting half tells and asks is kept, and nobody answers.
type quiet struct {
	Submitter
	mu       sync.Mutex
	t        testing.TB
	pushed   []any // to the daemon
	asked    []asked
	dialled  []*Channel
	timers   []*time.Timer
	told     []string // to the program's user
	receipts []string // to workers: the address and the number of an answer
	numbers  map[string]int
}

// asked is a question to the daemon or to another process.
type asked struct {
	addr   string // "": the daemon
	what   wire.Type
	body   any
	answer func(*wire.Message, error)
}

var (
	_ Effects      = (*quiet)(nil)
	_ refs.Effects = (*quietTable)(nil)
)

// newQuiet returns a session of the process {1} in the job 1.
func newQuiet(t testing.TB) *quiet {
	q := &quiet{t: t, numbers: map[string]int{}}
	me := Member{Self: ids.Owner{1}, Job: ids.JobOf(1), Addr: "/own"}
	q.Init(q, Settings{Lineage: Lineage{Limit: 1 << 30, Bytes: 1 << 30}})
	q.Join(me, refs.NewTable(me.Self, me.Job, me.Addr, (*quietTable)(q)))
	t.Cleanup(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.End(fault.New(fault.Closed, "the test is over"))
		q.ClosePage()
		for _, x := range q.timers {
			x.Stop()
		}
	})
	return q
}

// Push implements Effects.
func (q *quiet) Push(_ wire.Type, body any) { q.pushed = append(q.pushed, body) }

// PushTo implements Effects.
func (q *quiet) PushTo(_ uint32, t wire.Type, body any) { q.Push(t, body) }

// RoundTrip implements Effects.
func (*quiet) RoundTrip(uint32) time.Duration { return 0 }

// NodeName implements Effects.
func (*quiet) NodeName(node uint32) string { return fmt.Sprint("number ", node) }

// Request implements Effects.
func (q *quiet) Request(t wire.Type, body any, answered func(*wire.Message, error)) {
	q.asked = append(q.asked, asked{what: t, body: body, answer: answered})
}

// Tell implements Effects.
func (q *quiet) Tell(addr string, t wire.Type, body any, done func(error)) {
	q.asked = append(q.asked, asked{addr, t, body, func(_ *wire.Message, err error) { done(err) }})
}

// Known implements Effects.
func (*quiet) Known(string) bool { return false }

// Connect implements Effects.
func (q *quiet) Connect(o *Channel, _ string, _ wire.Hello, _ int) { q.dialled = append(q.dialled, o) }

// After implements Effects.
func (q *quiet) After(d time.Duration, f func()) Timer {
	x := time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if !q.closed {
			f()
		}
	})
	q.timers = append(q.timers, x)
	return x
}

// Promote implements Effects.
func (*quiet) Promote(*Task, []*refs.Object) {}

// Report implements Effects.
func (q *quiet) Report(list []*waiting.Report) {
	for _, r := range list {
		q.told = append(q.told, r.Warning(r.Why))
	}
}

// Warn implements Effects.
func (q *quiet) Warn(text string) { q.told = append(q.told, text) }

// Unheld implements Effects.
func (*quiet) Unheld(uint64, string, *fault.Error) {}

// NeverFetched implements Effects.
func (*quiet) NeverFetched(uint64, string, []byte, uint64) {}

// LessNeeded implements Effects.
func (*quiet) LessNeeded() {}

// Maker implements Effects.
func (*quiet) Maker(*Template) uint32 { return 0 }

// Number implements Effects.
func (q *quiet) Number(name string, otherwise int) int {
	if n, set := q.numbers[name]; set {
		return n
	}
	return otherwise
}

// Log implements Effects.
func (q *quiet) Log(text string) { q.t.Log(text) }

// Descriptor implements Effects.
func (*quiet) Descriptor(int, bool) {}

// quietTable is what the reference table of a quiet session asks of it. Owners and the store hear nothing.
type quietTable quiet

// ArrivalSite implements refs.Effects.
func (*quietTable) ArrivalSite(site uint32) uint32 { return site }

// Wake implements refs.Effects.
func (*quietTable) Wake(w *wait.Wait) {
	if w.End() && !w.Call() {
		w.Wake()
	}
}

// Ready implements refs.Effects.
func (q *quietTable) Ready(t refs.Task) { q.ArgumentReady(t) }

// Infeasible implements refs.Effects.
func (q *quietTable) Infeasible(t refs.Task, why *fault.Error) { q.ArgumentInfeasible(t, why) }

// Reply implements refs.Effects.
func (*quietTable) Reply(*wire.Message, *refs.Object) {}

// Refuse implements refs.Effects.
func (*quietTable) Refuse(*wire.Message, error) {}

// Borrow implements refs.Effects.
func (*quietTable) Borrow(*refs.Object) {}

// GiveBack implements refs.Effects.
func (*quietTable) GiveBack(*refs.Object) {}

// Ask implements refs.Effects.
func (*quietTable) Ask(*refs.Object, refs.Question) {}

// Receipt implements refs.Effects.
func (q *quietTable) Receipt(worker string, answer uint64) {
	q.receipts = append(q.receipts, fmt.Sprintf("%s %d", worker, answer))
}

// AskRegistered implements refs.Effects.
func (*quietTable) AskRegistered(*refs.Retained, time.Duration) {}

// AskRead implements refs.Effects.
func (*quietTable) AskRead(refs.TaskSocket, time.Duration) {}

// Check implements refs.Effects.
func (*quietTable) Check([]*refs.Object) bool { return true }

// Siblings implements refs.Effects.
func (q *quietTable) Siblings(o *refs.Object) []*refs.Object { return q.Submitter.Siblings(o) }

// Recompute implements refs.Effects.
func (q *quietTable) Recompute(o *refs.Object) { q.Submitter.Recompute(o) }

// Pointer implements refs.Effects.
func (*quietTable) Pointer(*refs.Object) []byte { return nil }

// Free implements refs.Effects.
func (*quietTable) Free([][]byte) {}

// CopyLost implements refs.Effects.
func (*quietTable) CopyLost(ids.Object) {}

// DropCopy implements refs.Effects.
func (*quietTable) DropCopy(*refs.Object) bool { return false }

// SourceGone implements refs.Effects.
func (q *quietTable) SourceGone(s refs.Source, o *refs.Object) { q.Submitter.SourceGone(s, o) }

// RecipeGone implements refs.Effects.
func (q *quietTable) RecipeGone(t refs.Task) { q.Submitter.RecipeGone(t) }

// Unseen implements refs.Effects.
func (*quietTable) Unseen(*refs.Object) {}

// Released implements refs.Effects.
func (*quietTable) Released(func()) {}

// DropView implements refs.Effects.
func (*quietTable) DropView(uint64) {}

// DropStream implements refs.Effects.
func (q *quietTable) DropStream(generator ids.Object) { q.LeaveStream(generator) }

// Needed implements refs.Effects.
func (*quietTable) Needed() {}
