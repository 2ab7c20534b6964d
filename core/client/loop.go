package client

import (
	"time"

	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/wait"
)

// An actor with coroutines has an event loop on its main thread. When the loop has
// nothing to run it waits here, as other workers do in NextTask: the thread reads the
// task sockets itself, and wakes for calls as for the loop's own descriptors, which are
// one descriptor in our poller (the loop's own poller). No other thread hands calls over.
//
// The loop must never wait for one call's sake: what a call takes and is not at hand
// is fetched on a goroutine. Until it is there later calls wait, in order.

// eventLoop is what the core knows of the program's event loop.
type eventLoop struct {
	on       bool // calls are taken by one
	fd       int  // of its poller
	armed    bool // our poller tells of it, once
	fired    bool // it did
	waiter   *wait.Wait
	fetching bool    // a goroutine has the call whose turn it is
	fetched  []*Item // what it has made of that
}

// LoopStart makes the loop that polls fd the one that takes this actor's calls.
func (c *Client) LoopStart(fd int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.why
	}
	c.loop = eventLoop{on: true, fd: fd, armed: true}
	return c.poller.WatchOnce(fd, c.fire)
}

// LoopTake appends up to most calls to items. When there are none it waits for one, for
// the loop's descriptors, a signal or the timeout (0: not at all). Fired: the loop has
// to look at its descriptors.
func (c *Client) LoopTake(items []*Item, most int, timeout time.Duration) (taken []*Item, fired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, l := c.exec, &c.loop
	if !l.armed && !c.closed {
		l.armed = true
		c.poller.WatchAgain(l.fd)
	}
	c.takeDrops()
	c.poller.SendAll()
	if timeout == 0 || most > 0 && len(e.queue) > 0 {
		c.poller.Glance()
	}
	if items = e.takeCalls(items, most); len(items) > 0 || l.fired || timeout == 0 {
		return items, l.unfire()
	}
	w := wait.New()
	w.Signals = true
	l.waiter = w
	if most > 0 {
		e.waiting = append(e.waiting, w)
	}
	c.poller.Await(w, deadlineOf(timeout))
	l.waiter = nil
	for i, x := range e.waiting {
		if x == w {
			e.waiting = append(e.waiting[:i], e.waiting[i+1:]...)
			break
		}
	}
	items = e.takeCalls(items, most)
	return items, l.unfire() || w.Early() // after an early end the loop runs its signal handlers and comes back
}

// takeCalls appends what the program can begin now; mu held.
func (e *executor) takeCalls(items []*Item, most int) []*Item {
	l := &e.c.loop
	if l.fetched != nil {
		items, l.fetched = append(items, l.fetched...), nil
	}
	for len(items) < most && !l.fetching && e.ended == "" && !e.c.closed {
		if n := len(e.forgets); n > 0 {
			items = append(items, &Item{Kind: ItemForget, Blob: e.forgets[n-1]})
			e.forgets = e.forgets[:n-1]
			continue
		}
		if !e.someNext() {
			break
		}
		if e.parks > 0 || e.slow(e.queue[0]) {
			l.fetching = true
			go e.fetch()
			break
		}
		k := e.next(&e.lane)
		e.unqueued(k)
		if it, _ := e.begin(k); it != nil {
			items = append(items, it)
		}
	}
	if e.drained() && e.ended == "" {
		e.ended = "released"
	}
	if len(items) == 0 && (e.ended != "" || e.c.closed) {
		e.c.poller.SendAll()
		return append(items, &Item{Kind: ItemExit, Reason: e.ended})
	}
	if len(e.queue) == 0 {
		e.index.calls = nil
	}
	return items
}

// someNext reports whether next would give a call; mu held.
func (e *executor) someNext() bool {
	return len(e.queue) > 0 && !e.leaving && (e.parks == 0 || e.overtaking() >= 0)
}

// slow reports whether something that the call takes is not at hand.
func (e *executor) slow(k *call) bool {
	if k.assign != nil {
		return false
	}
	far := func(p *frame.Place) bool { return p.Envelope == nil && (p.Size == 0 || !e.c.local.Has(p.ID)) }
	for i := range k.deps {
		if far(&k.deps[i]) {
			return true
		}
	}
	return far(&k.args)
}

// fetch begins the call whose turn it is, as slowly as its arguments come.
func (e *executor) fetch() {
	c := e.c
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.loop
	if k := e.next(&e.lane); k != nil {
		e.unqueued(k)
		if it, _ := e.begin(k); it != nil {
			l.fetched = append(l.fetched, it)
		}
	}
	l.fetching = false
	if len(l.fetched) > 0 || e.someNext() || e.ended != "" {
		c.wakeLoop()
	}
	c.poller.Arm()
}

// wakeLoop ends the loop's wait; mu held.
func (c *Client) wakeLoop() {
	if w := c.loop.waiter; w != nil {
		c.poller.Finish(w)
	}
}

// fire notes that the loop's own descriptors have something; mu held.
func (c *Client) fire() {
	c.loop.armed, c.loop.fired = false, true
	c.wakeLoop()
}

func (l *eventLoop) unfire() bool {
	fired := l.fired
	l.fired = false
	return fired
}

// later reports whether an answer may wait until the loop has nothing to run: it sends
// what all that ran together have answered. Mu held.
func (l *eventLoop) later(c *Client) bool {
	return l.on && !c.poller.Led()
}
