package actors

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// process is a process whose actors are tested. What they ask is noted; the test answers.
type process struct {
	Table
	t       *testing.T
	objects *refs.Table
	notes   []string
	waiting []func(*wire.Message, error) // the questions to the daemon without an answer
	later   []func()
	pauses  []time.Duration
	known   bool
}

// row is an actor with calls that are only counted.
type row struct {
	Actor
	p       *process
	queued  int
	open    int // calls without an answer
	sockets []Incarnation
}

// taken plays the constructor's call.
type taken struct {
	p     *process
	late  bool // an argument is not ready
	ready func()
	takes bool
	holds bool
}

func newProcess(t *testing.T) *process {
	p := &process{t: t}
	me := Process{Self: ids.Owner{1}, Job: ids.JobOf(1), Namespace: "ours", Addr: "/own"}
	p.objects = refs.NewTable(me.Self, me.Job, me.Addr, tableOf{p: p})
	p.Join(me, p.objects, p)
	return p
}

func (p *process) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// heard returns what was noted since the last time.
func (p *process) heard() []string {
	list := p.notes
	p.notes = nil
	return list
}

// wants fails the test unless this was noted.
func (p *process) wants(when string, want ...string) {
	p.t.Helper()
	if got := p.heard(); !slices.Equal(got, want) {
		p.t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// answer answers the oldest question, with a body or an error.
func (p *process) answer(body any) {
	p.t.Helper()
	if len(p.waiting) == 0 {
		p.t.Fatal("nothing was asked")
	}
	f := p.waiting[0]
	p.waiting = p.waiting[1:]
	if err, failed := body.(error); failed {
		f(nil, err)
		return
	}
	b, err := msgpack.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	f(&wire.Message{Kind: wire.Reply, Body: b}, nil)
}

func (p *process) Push(_ wire.Type, body any) { p.note("push %T", body) }

func (p *process) Request(_ wire.Type, body any, answered func(*wire.Message, error)) {
	switch b := body.(type) {
	case *wire.ActorCreate:
		p.note("register %s", b.ClassName)
	case wire.ActorResolve:
		p.note("where after %d", b.After)
	case wire.ActorLost:
		if b.Incarnation == wire.ActorNever {
			p.note("tell of its death")
		} else {
			p.note("what became of %d on %d", b.Incarnation, b.Conn)
		}
	}
	p.waiting = append(p.waiting, answered)
}

func (p *process) Known(string) bool { return p.known }

func (p *process) Later(d time.Duration, f func()) {
	p.pauses, p.later = append(p.pauses, d), append(p.later, f)
}

// passes lets the pauses pass that were asked for until now, and returns their number.
func (p *process) passes() int {
	list := p.later
	p.later = nil
	for _, f := range list {
		f()
	}
	return len(list)
}

func (p *process) MakeRoom()      { p.note("make room") }
func (p *process) CreationEnded() { p.note("its creation has ended") }

// actor returns an actor that this process has a handle of, which does not count.
func (p *process) actor() *row {
	a := p.unheld()
	a.CountHandle(false)
	return a
}

// unheld returns an actor without a handle.
func (p *process) unheld() *row {
	a := &row{p: p}
	p.Add(&a.Actor, a, ids.Actor{7}, "A")
	return a
}

// made returns an actor that this process creates.
func (p *process) made(s *Spec, k *taken) *row {
	a := p.unheld()
	s.ClassName = "A"
	k.p = p
	a.Create(s, k, 5)
	return a
}

func (*row) IsActor() bool     { return true }
func (a *row) Waiting() bool   { return a.queued > 0 }
func (a *row) Unanswered() int { return a.open }

func (a *row) Open(x Incarnation) {
	a.sockets = append(a.sockets, x)
	a.p.note("open %s", x.Addr)
}
func (a *row) Unschedulable(why *fault.Error) { a.p.note("its calls wait: %s", why.Message) }
func (a *row) Sort(f *wire.ActorDeath)        { a.p.note("sort the calls: %s", f.State) }
func (a *row) FailCalls()                     { a.p.note("its calls fail: %s", a.Dead().Code) }
func (a *row) Forget()                        { a.p.note("its row goes") }

// lives answers where it is: it runs.
func (a *row) lives(n uint64) {
	a.p.t.Helper()
	a.p.answer(wire.ActorState{State: wire.ActorAlive, Incarnation: n, Addr: "/a"})
}

// connects opens the socket that was asked for last.
func (a *row) connects() bool { return a.SocketOpened(a.sockets[len(a.sockets)-1], nil) }

func (k *taken) Await(ready func()) bool { k.ready = ready; return k.late }
func (k *taken) Spec() []byte            { return []byte("spec") }
func (k *taken) Takes() bool             { return k.takes }
func (k *taken) Holds() bool             { return k.holds }
func (k *taken) Retain(worker string)    { k.p.note("retain for %s", worker) }
func (k *taken) Release()                { k.p.note("release its arguments") }

// tableOf is what the table of objects asks of its session.
type tableOf struct {
	refs.Effects
	p *process
}

func (e tableOf) SourceGone(s refs.Source, _ *refs.Object) { s.(*row).HandlesGone() }
func (tableOf) RecipeGone(refs.Task)                       {}
func (tableOf) Free([][]byte)                              {}
func (tableOf) CopyLost(ids.Object)                        {}
func (tableOf) DropCopy(*refs.Object) bool                 { return false }
func (tableOf) Unseen(*refs.Object)                        {}
func (tableOf) Needed()                                    {}
func (tableOf) Wake(*wait.Wait)                            {}
func (tableOf) Borrow(*refs.Object)                        {}
func (tableOf) GiveBack(*refs.Object)                      {}

var errNotHere = errors.New("the daemon is gone")
