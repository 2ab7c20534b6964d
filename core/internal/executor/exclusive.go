package executor

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/access"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/promise"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The worker of an exclusive actor begins a call only while the cluster counts on its node (package promise): else the actor may run
// elsewhere already. It looks before it takes a call out of the queue, once more if it has waited for the arguments, and before
// a generator makes its next item. While it may not begin, calls wait where they are. Nothing tells the worker when it may go on,
// so it looks again and again.

const (
	pauseLook  = 20 * time.Millisecond // between two looks
	pauseTell  = 10 * time.Second      // after which callers are told
	pauseAgain = time.Minute           // until they are told again
)

// exclusive is what the worker of an exclusive actor knows.
type exclusive struct {
	promise *promise.View // nil: the actor is not exclusive, or its node is the only one
	name    string        // of the class
	since   time.Time     // when calls began to wait for the promise; zero: they do not
	told    time.Time     // when that was said
}

// askPromise gets the page of the node's promise. It returns nil where the node is the only one.
func (x *Executor) askPromise() (*promise.View, error) {
	u, _, fd, err := wire.Dial(x.socket, wire.Hello{Version: wire.Version, Role: wire.RolePromise, OwnerID: x.self[:]})
	if err != nil {
		return nil, fmt.Errorf("an exclusive actor cannot learn whether the cluster counts on its node: %w", err)
	}
	u.Close()
	if fd < 0 {
		return nil, nil
	}
	defer unix.Close(fd)
	return promise.Open(fd, x.bootTime)
}

// becomeExclusive has the worker look at the promise from now on; mu held, released meanwhile.
func (x *Executor) becomeExclusive(s *wire.ActorStart) error {
	ask := func() (*promise.View, error) {
		x.mu.Unlock()
		defer x.mu.Lock()
		return x.askPromise()
	}
	v, err := ask()
	x.only = exclusive{promise: v, name: s.ClassName}
	return err
}

// mayBegin reports whether a call may begin now; mu held.
func (x *Executor) mayBegin() bool {
	if x.only.promise == nil {
		return true
	}
	if !x.only.promise.Valid() && !planted.Strikes(planted.BlindPromise) {
		return false
	}
	x.only.since = time.Time{}
	return true
}

// MayBegin reports whether a call may begin now. A program that keeps calls between NextTask or LoopTake and their beginning asks.
func (x *Executor) MayBegin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.mayBegin()
}

// paused reports whether a call of the lane waits for the promise; mu held.
func (x *Executor) paused(l *execute.Lane) bool {
	if x.only.promise == nil {
		return false
	}
	k := x.exec.Head(l)
	return k != nil && k.Assign == nil && !x.mayBegin()
}

// pauseUntil returns until when to wait for the promise before the next look, and says after a while why calls wait; mu held.
func (x *Executor) pauseUntil(deadline time.Time) time.Time {
	now := time.Now()
	if text := x.only.waits(now, x.only.promise.Over()); text != "" {
		fmt.Fprintln(os.Stderr, text)
	}
	if next := now.Add(pauseLook); deadline.IsZero() || next.Before(deadline) {
		return next
	}
	return deadline
}

// waits notes that calls wait. After a while, and again each minute, it returns why; over is for how long nothing has been promised.
func (o *exclusive) waits(now time.Time, over time.Duration) string {
	if o.since.IsZero() {
		o.since = now
	}
	if now.Sub(o.since) < pauseTell || now.Sub(o.told) < pauseAgain {
		return ""
	}
	o.told = now
	return fmt.Sprintf("eagleray: calls of the exclusive actor %s have been waiting for %v: the cluster may have given the actor to another node, because no head has answered this node in time. "+
		"What was promised to the node ended %v ago. The calls go on when a head hears the node again. If the cluster has declared the node dead, this process ends, "+
		"and calls that may be tried again go to the actor's next process", o.name, now.Sub(o.since).Round(time.Second), over.Round(time.Second))
}

// awaitPromise waits until a call may begin. It reports false when no call begins any more; mu held, released meanwhile.
func (x *Executor) awaitPromise() bool {
	for !x.mayBegin() {
		if x.objects.Closed() || !x.exec.Going() {
			return false
		}
		x.poller.SendAll()
		x.poller.Await(wait.New(), x.pauseUntil(time.Time{}))
	}
	return true
}

// notBegun answers a call that an actor has not begun before its end.
func notBegun(k *execute.Call) *fault.Error {
	return fault.New(fault.ActorDied, "The actor ended before it could begin %s.", k.Tmpl.Name)
}

// feedState says what a running generator is to do next: its next item begins as a call does; mu held.
func (x *Executor) feedState(k *execute.Call) (s execute.FeedState, paused bool) {
	s = x.exec.FeedState(k)
	if s == execute.FeedOpen && !x.mayBegin() {
		return execute.FeedFull, true
	}
	return s, false
}

// awaitFeed waits until it is worth to look at a generator again, and reports whether the time has not passed; mu held, released meanwhile.
func (x *Executor) awaitFeed(k *execute.Call, paused bool, deadline time.Time) bool {
	w := wait.New()
	if paused {
		x.poller.SendAll()
		x.poller.Await(w, x.pauseUntil(deadline))
		return deadline.IsZero() || time.Now().Before(deadline)
	}
	x.exec.AwaitRoom(k, w)
	x.objects.AwaitBlocked(w, deadline)
	if !w.Over() {
		x.exec.UnawaitRoom(k)
		return false
	}
	return true
}

// earliest returns when a thread that waits for calls wakes at the latest; mu held.
func (x *Executor) earliest(paused bool, timeout time.Duration) time.Time {
	deadline := access.DeadlineOf(timeout)
	if paused {
		return x.pauseUntil(deadline)
	}
	return deadline
}
