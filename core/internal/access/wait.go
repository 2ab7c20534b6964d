package access

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// Get waits for an object. It returns nil, nil when the timeout passed;
// negative waits for ever. The program must hold the reference meanwhile.
func (a *Objects) Get(id ids.Object, timeout time.Duration) (*Found, error) {
	return a.get(context.Background(), id, DeadlineOf(timeout))
}

// get is Get; a context ends the wait, too.
func (a *Objects) get(ctx context.Context, id ids.Object, deadline time.Time) (*Found, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, err := a.Find(id)
	if err != nil {
		return nil, err
	}
	for misses := 0; ; misses++ {
		if o.State() == refs.Pending {
			w := wait.New()
			w.For(1, 1, true)
			a.table.Watch(o, w)
			stop := a.endsWith(ctx, w)
			a.AwaitBlocked(w, deadline)
			stop()
			if !w.Over() || w.GaveUp() {
				a.table.Unwatch(o, w)
				if a.closed {
					return nil, a.why
				}
				return nil, nil
			}
		}
		if ctx.Done() != nil && localstore.MustFetch(o) {
			err = a.local.Near(ctx, o)
		}
		var f Found
		if err == nil {
			f, err = a.local.Fetch(o, deadline)
		}
		switch {
		case err == nil:
			a.noteLook(o, f.Envelope)
			return &f, nil
		case err == localstore.ErrNoAnswer:
			return nil, nil
		case !nodestore.IsLost(err) || misses == retry.MaxMisses:
			return nil, err
		}
		err = nil
		a.table.Missed(o)
	}
}

// TryGet returns a value that is at hand: without asking or waiting for
// anybody. A Found without envelope means that it is not.
func (a *Objects) TryGet(id ids.Object) (Found, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return Found{}, a.why
	}
	o := a.table.Find(id)
	if o == nil || !o.State().Ready() || o.State() == refs.Stored && o.Copy() == nil {
		return Found{}, nil
	}
	f, err := a.local.Fetch(o, time.Time{})
	a.noteLook(o, f.Envelope)
	return f, err
}

// Ready reports whether a get would return at once.
func (a *Objects) Ready(id ids.Object) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, err := a.Find(id)
	return err == nil && o.State().Ready(), err
}

// WaitMode says when Wait returns.
type WaitMode int

// Wait returns when enough are ready; WaitAll when all are, or one failed;
// WaitHere when enough are ready and on this node, and the store has not lost them.
const (
	WaitSome WaitMode = iota
	WaitAll
	WaitHere
)

// Wait waits until need of the objects are ready, nothing else can become
// ready, or the timeout passed. mark is called for each object in order with
// whether it is ready. It returns how many can never become ready, and
// whether it ended before the timeout.
func (a *Objects) Wait(list []ids.Object, need int, timeout time.Duration, mode WaitMode, mark func(i int, ready bool)) (infeasible int, done bool, err error) {
	return a.wait(context.Background(), list, need, timeout, mode, mark)
}

// wait is Wait; a context ends it, too.
func (a *Objects) wait(ctx context.Context, list []ids.Object, need int, timeout time.Duration, mode WaitMode, mark func(i int, ready bool)) (infeasible int, done bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := make([]*ids.Object, len(list))
	for i := range list {
		at[i] = &list[i]
	}
	objs, err := a.lookUp(at)
	if err != nil {
		return 0, false, err
	}
	defer a.scratched(objs)
	if done, err = a.waitMany(ctx, objs, need, timeout, mode); err != nil {
		return 0, false, err
	}
	for i, o := range objs {
		mark(i, a.counts(o, mode))
		if o.IsError() {
			o.MarkSeen()
		}
		if o.State() == refs.Infeasible {
			infeasible++
			o.MarkSeen()
		}
	}
	if mode == WaitAll && done {
		a.local.AwaitBatch(objs, DeadlineOf(timeout))
	}
	return infeasible, done, nil
}

// waitMany waits as Wait says, and reports whether it ended before the timeout; mu held, released meanwhile.
func (a *Objects) waitMany(ctx context.Context, objs []*refs.Object, need int, timeout time.Duration, mode WaitMode) (done bool, err error) {
	deadline := DeadlineOf(timeout)
	for misses := 0; ; misses++ {
		if mode == WaitHere {
			a.fetchAway(objs, need, nil)
		}
		if done, err = a.waitFew(ctx, objs, need, deadline, mode == WaitAll); err != nil {
			return false, err
		}
		if mode == WaitHere && done {
			if done, err = a.waitFetched(ctx, objs, need, deadline); err != nil {
				return false, err
			}
		}
		if mode != WaitHere || !done || misses == retry.MaxMisses || !a.local.AnyLost(objs, need, deadline) {
			break
		}
	}
	if a.closed {
		return false, a.why
	}
	return done, nil
}

// waitFew waits for objects to be ready, and reports whether it ended before the deadline; mu held, released meanwhile.
func (a *Objects) waitFew(ctx context.Context, objs []*refs.Object, need int, deadline time.Time, failFast bool) (done bool, err error) {
	missing, open, stop := need, 0, false
	for _, o := range objs {
		switch {
		case o.State().Ready():
			missing--
			stop = stop || failFast && o.IsError()
		case o.State() == refs.Infeasible:
			stop = stop || failFast
		default:
			open++
		}
	}
	if missing <= 0 || open <= 0 || stop {
		return true, nil
	}
	w := wait.New().For(missing, open, failFast)
	a.table.WatchAll(w, objs)
	unlisten := a.endsWith(ctx, w)
	err = a.awaitLooking(w, deadline)
	unlisten()
	a.table.UnwatchAll(w)
	if a.closed {
		return false, a.why
	}
	return w.Over() && !w.GaveUp(), err
}

// awaitLooking is AwaitBlocked for waits that cost much to begin: it looks after
// the program's signals on the way. Interrupted: the handler of one has raised.
func (a *Objects) awaitLooking(w *wait.Wait, deadline time.Time) error {
	for {
		next := deadline
		if a.signals != nil {
			if look := time.Now().Add(nodestore.SignalsEvery); next.IsZero() || look.Before(next) {
				next = look
			}
		}
		a.AwaitBlocked(w, next)
		if w.Over() || a.closed || !deadline.IsZero() && !time.Now().Before(deadline) {
			return nil
		}
		if a.signals == nil {
			continue
		}
		if a.signalRaises() {
			return fault.New(fault.Interrupted, "a signal ended the wait")
		}
	}
}

// signalRaises runs the program's handlers of signals that have come, and reports whether one has raised an exception. The
// mutex is held, and released meanwhile.
func (a *Objects) signalRaises() bool {
	a.mu.Unlock()
	defer a.mu.Lock()
	return a.signals()
}

// AwaitBlocked waits like await. In a worker whose task waits longer than a
// moment it gives the task's CPUs and the tasks queued behind it back.
func (a *Objects) AwaitBlocked(w *wait.Wait, deadline time.Time) {
	if a.exec == nil || a.exec.Running() == 0 {
		a.poller.Await(w, deadline)
		return
	}
	if now := time.Now(); !a.exec.LendsAtOnce(now) {
		first := now.Add(execute.LendAfter)
		if !deadline.IsZero() && deadline.Before(first) {
			first = deadline
		}
		a.poller.Await(w, first)
		if w.Over() || a.closed || !deadline.IsZero() && !time.Now().Before(deadline) {
			return
		}
	}
	a.exec.Block()
	a.poller.Await(w, deadline)
	a.exec.Unblock()
}

// asyncQueue holds the tokens of asynchronous waits that have ended.
type asyncQueue struct {
	fd    int
	ended []uint64
}

// AsyncFD is readable when AsyncDrain has something.
func (a *Objects) AsyncFD() int { return a.async.fd }

// AsyncWatch asks for the token when the object is ready; true: it already is.
func (a *Objects) AsyncWatch(id ids.Object, token uint64) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, err := a.Find(id)
	if err != nil {
		return false, err
	}
	switch {
	case localstore.MustFetch(o):
		go a.fetchForLoop(id, token, 0)
		return false, nil
	case o.State() != refs.Pending:
		return true, nil
	}
	a.watchForLoop(o, token, 0)
	return false, nil
}

// AsyncDrain returns the tokens whose objects became ready.
func (a *Objects) AsyncDrain() []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b [8]byte
	_, _ = unix.Read(a.async.fd, b[:])
	t := a.async.ended
	a.async.ended = nil
	return t
}

// endsWith has the end of a context end a wait; mu held. The
// caller calls stop, with mu held, when the wait is over.
func (a *Objects) endsWith(ctx context.Context, w *wait.Wait) (stop func() bool) {
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !w.Over() {
			w.GiveUp()
			a.poller.Finish(w)
		}
	})
}
