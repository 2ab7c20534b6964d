package client

import (
	"time"

	"github.com/eagleray/eagleray/core/execute"
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
	l, main := &c.loop, c.exec.Lane("")
	if !l.armed && !c.closed {
		l.armed = true
		c.poller.WatchAgain(l.fd)
	}
	c.takeDrops()
	c.poller.SendAll()
	if timeout == 0 || most > 0 && main.Len() > 0 {
		c.poller.Glance()
	}
	if items = c.takeCalls(items, most); len(items) > 0 || l.fired || timeout == 0 {
		return items, l.unfire()
	}
	w := wait.New()
	w.Signals = true
	l.waiter = w
	if most > 0 {
		main.Await(w)
	}
	c.poller.Await(w, deadlineOf(timeout))
	l.waiter = nil
	main.Unawait(w)
	items = c.takeCalls(items, most)
	return items, l.unfire() || w.Early() // after an early end the loop runs its signal handlers and comes back
}

// takeCalls appends what the program can begin now; mu held.
func (c *Client) takeCalls(items []*Item, most int) []*Item {
	l, e := &c.loop, c.exec
	main := e.Lane("")
	if l.fetched != nil {
		items, l.fetched = append(items, l.fetched...), nil
	}
	for len(items) < most && !l.fetching && e.Going() && !c.closed {
		if fid := e.TakeForget(); fid != nil {
			items = append(items, &Item{Kind: ItemForget, Blob: fid})
			continue
		}
		head := e.Head(main)
		if head == nil {
			break
		}
		if main.Deferred() || c.slow(head) {
			l.fetching = true
			go c.fetchCall()
			break
		}
		if it := c.beginCall(e.Next(main)); it != nil {
			items = append(items, it)
		}
	}
	if reason := e.Ended(); len(items) == 0 && (reason != "" || c.closed) {
		c.poller.SendAll()
		return append(items, &Item{Kind: ItemExit, Reason: reason})
	}
	return items
}

// slow reports whether something that the call takes is not at hand.
func (c *Client) slow(k *execute.Call) bool {
	if k.Assign != nil {
		return false
	}
	far := func(p *frame.Place) bool { return p.Envelope == nil && (p.Size == 0 || !c.local.Has(p.ID)) }
	for i := range k.Deps {
		if far(&k.Deps[i]) {
			return true
		}
	}
	return far(&k.Args)
}

// fetchCall begins the call whose turn it is, as slowly as its arguments come.
func (c *Client) fetchCall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, e := &c.loop, c.exec
	main := e.Lane("")
	if k := e.Next(main); k != nil {
		if it := c.beginCall(k); it != nil {
			l.fetched = append(l.fetched, it)
		}
	}
	l.fetching = false
	if len(l.fetched) > 0 || e.Head(main) != nil || !e.Going() {
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
