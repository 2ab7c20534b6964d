package executor

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// An actor with coroutines has an event loop on its main thread. When the loop has
// nothing to run it waits here, as other workers do in NextTask: the thread reads the
// task sockets itself, and wakes for calls as for the loop's own descriptors, which are
// one descriptor in our poller (the loop's own poller). No other thread hands calls over.
//
// The loop must never wait for one call's sake: what a call takes and is not at hand
// is fetched on a goroutine. Until it is there later calls wait, in order.

// LoopStart makes the loop that polls fd the one that takes this actor's calls.
func (x *Executor) LoopStart(fd int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.objects.Closed() {
		return x.objects.Why()
	}
	x.loop = eventLoop{on: true, fd: fd, armed: true}
	return x.poller.WatchOnce(fd, x.fire)
}

// LoopTake appends up to most calls to items. When there are none it waits for one, for
// the loop's descriptors, a signal or the timeout (0: not at all). Fired: the loop has
// to look at its descriptors.
func (x *Executor) LoopTake(items []*Item, most int, timeout time.Duration) (taken []*Item, fired bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l, main := &x.loop, x.exec.Lane("")
	if !l.armed && !x.objects.Closed() {
		l.armed = true
		x.poller.WatchAgain(l.fd)
	}
	x.objects.TakeDrops()
	x.poller.SendAll()
	if timeout == 0 || most > 0 && main.Len() > 0 {
		x.poller.Glance()
	}
	if items = x.takeCalls(items, most); len(items) > 0 || l.fired || timeout == 0 {
		return items, l.unfire()
	}
	w := wait.New()
	w.Signals = true
	l.waiter = w
	if most > 0 {
		main.Await(w)
	}
	paused := most > 0 && x.paused(main)
	x.poller.Await(w, x.earliest(paused, timeout))
	l.waiter = nil
	main.Unawait(w)
	items = x.takeCalls(items, most)
	return items, l.unfire() || w.Early() || paused // after an early end the loop runs its signal handlers and comes back
}

// takeCalls appends what the program can begin now; mu held.
func (x *Executor) takeCalls(items []*Item, most int) []*Item {
	l, e := &x.loop, x.exec
	main := e.Lane("")
	if l.fetched != nil {
		items, l.fetched = append(items, l.fetched...), nil
	}
	for len(items) < most && !l.fetching && e.Going() && !x.objects.Closed() {
		if fid, ok := e.TakeForget(); ok {
			items = append(items, &Item{Kind: ItemForget, Blob: fid})
			continue
		}
		head := e.Head(main)
		if head == nil {
			break
		}
		if head.Assign == nil && !x.mayBegin() {
			break
		}
		if main.Deferred() || head.Assign == nil && !x.args.AtHand(head) {
			l.fetching = true
			go x.fetchCall()
			break
		}
		if it := x.beginCall(e.Next(main)); it != nil {
			items = append(items, it)
		}
	}
	if reason := e.Ended(); len(items) == 0 && (reason != "" || x.objects.Closed()) {
		x.poller.SendAll()
		return append(items, &Item{Kind: ItemExit, Reason: reason})
	}
	return items
}

// fetchCall begins the call whose turn it is, when its arguments have come.
func (x *Executor) fetchCall() {
	x.mu.Lock()
	defer x.mu.Unlock()
	l, e := &x.loop, x.exec
	main := e.Lane("")
	if k := e.Next(main); k != nil {
		if it := x.beginCall(k); it != nil {
			l.fetched = append(l.fetched, it)
		}
	}
	l.fetching = false
	if len(l.fetched) > 0 || e.Head(main) != nil || !e.Going() {
		x.wakeLoop()
	}
	x.poller.Arm()
}

// wakeLoop ends the loop's wait; mu held.
func (x *Executor) wakeLoop() {
	if w := x.loop.waiter; w != nil {
		x.poller.Finish(w)
	}
}

// fire notes that the loop's own descriptors have something; mu held.
func (x *Executor) fire() {
	x.loop.armed, x.loop.fired = false, true
	x.wakeLoop()
}

func (l *eventLoop) unfire() bool {
	fired := l.fired
	l.fired = false
	return fired
}
