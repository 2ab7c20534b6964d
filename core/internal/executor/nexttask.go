package executor

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/callargs"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// NextTask waits for something to do. It returns nil when the timeout has passed. A thread names the concurrency group
// whose calls it runs. The thread of the default group, whose name is empty, gets everything else.
func (x *Executor) NextTask(timeout time.Duration, group string) (*Item, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.exec
	l := e.Lane(group)
	if l == nil {
		return nil, fault.New(fault.BadRequest, "there is no concurrency group %q here", group)
	}
	var deadline time.Time
	for waited := false; ; {
		if group == "" {
			if fid, ok := e.TakeForget(); ok {
				return &Item{Kind: ItemForget, Blob: fid}, nil
			}
		}
		paused := x.paused(l)
		if paused {
			// it stays in the queue
		} else if k := e.Next(l); k != nil {
			if it := x.beginCall(k); it != nil {
				return it, nil
			}
			continue
		}
		if reason := e.Ended(); reason != "" || x.objects.Closed() {
			e.Told(l)
			x.poller.SendAll()
			return &Item{Kind: ItemExit, Reason: reason}, nil
		}
		x.poller.SendAll()
		if !waited { // the clock is read by threads that wait
			waited, deadline = true, access.DeadlineOf(timeout)
		}
		w := wait.New()
		l.Await(w)
		until := deadline
		if paused {
			until = x.pauseUntil(deadline)
		}
		x.poller.Await(w, until)
		if !w.Over() {
			l.Unawait(w)
			if !x.objects.Closed() && until.Equal(deadline) {
				return nil, nil
			}
		}
	}
}

// beginCall fetches the arguments of a call that was taken out of the queue, and makes the
// call an item. It returns nil if the call does not begin, but is answered, deferred or
// given back. mu held, released meanwhile.
func (x *Executor) beginCall(k *execute.Call) *Item {
	e := x.exec
	if k.Assign != nil {
		return &Item{Kind: ItemAssign, Blob: k.Assign}
	}
	it := &Item{Kind: ItemTask, Token: k.Token(), Tmpl: k.Tmpl, Returns: k.Tmpl.Returns, TaskID: k.Task, Actor: k.Actor}
	switch {
	case k.Actor != nil:
		it.Kind = ItemActor
	case k.Tmpl.Kind == frame.KindMethod:
		it.Kind = ItemMethod
	}
	if k.Yields() {
		if k.Unwanted() {
			x.answer(k, []Value{{Fmt: uint8(store.FormatNone)}}, 0)
			return nil
		}
		it.Returns = generatorReturns(k.Tmpl.Flow)
	}
	if k.Actor != nil {
		if err := x.fetchClass(k); err != nil {
			e.AnswerFault(k, fault.From(err))
			return nil
		}
	}
	soon := x.only.promise == nil || x.args.AtHand(k)
	lost, err := x.args.Fetch(k, &it.Args, &it.Deps)
	switch {
	case lost != nil && k.Leased():
		e.GiveLost(k, lost)
		return nil
	case lost != nil:
		x.args.Defer(k, lost)
		return nil
	case err != nil:
		if k.Actor != nil {
			err = callargs.ConstructorLacks(k.Actor.ClassName, err)
		}
		e.AnswerFault(k, fault.From(err))
		return nil
	}
	if !soon && !x.awaitPromise() {
		x.args.Drop(&it.Args, &it.Deps)
		e.AnswerFault(k, notBegun(k))
		return nil
	}
	e.Begin(k)
	x.poller.ArmLater(e.Lane("").Len() > 0) // somebody has to look after the sockets while it runs
	return it
}

// DeclareGroups says which concurrency groups this actor has beside the default one. The program has threads for all
// of them but the system group: serve, if it is set, begins the thread of that one when there is a call.
func (x *Executor) DeclareGroups(names []string, serve func()) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.exec.DeclareGroups(names, serve)
}

// Function returns a pickled function or class, and keeps it until Unload.
func (x *Executor) Function(fid [16]byte) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if blob := x.exec.Load(fid); blob != nil {
		return blob, nil
	}
	return nil, fault.New(fault.Internal, "function %x was not sent", fid)
}

// Unload notes that the program no longer keeps a function that it has asked for.
func (x *Executor) Unload(fid [16]byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.exec != nil {
		x.exec.Unload(fid)
	}
}

// CurrentCancelled returns a running task whose cancellation was asked. It returns each such task once.
func (x *Executor) CurrentCancelled() (id ids.Task, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.exec == nil {
		return id, false
	}
	return x.exec.TakeCancelled()
}

// Cancelled reports whether the cancellation of a running task was asked.
func (x *Executor) Cancelled(id ids.Task) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.exec != nil && x.exec.Cancelled(id)
}

// BecomeActor makes this worker an actor's. An actor ends at once when it is
// killed, and what its process owns ends with it. So a worker that others still
// need, for what its tasks have put or submitted, declines: it hands that to an
// successor and ends, and the daemon gives the actor another worker.
func (x *Executor) BecomeActor(s *wire.ActorStart) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.session.WouldLose() {
		x.exec.Stop(wire.ExitDeclines)
		return nil
	}
	page := x.actorPage(s.Restarts)
	if s.Exclusive {
		if err := x.becomeExclusive(s); err != nil {
			return err
		}
	}
	return x.exec.BecomeActor(s, page)
}

// generatorReturns is what Item.Returns says of a generator: negative, odd for FlowStream.
func generatorReturns(f frame.Flow) int { return -(2*(max(1, f.Each)-1) + f.Mode) }
