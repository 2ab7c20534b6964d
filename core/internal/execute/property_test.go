package execute

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorker_RandomEvents_KeepsItsPromises plays random callers and a random
// program against a worker: each call is answered or given back exactly once, the
// calls of a lane begin in the order in which their caller sent them, CPUs are
// lent and taken back in turns, generators yield no more than they may and wait no
// longer than they have to, an actor that ends lets what runs end and nothing else
// begin, and in the end nothing is left.
func TestWorker_RandomEvents_KeepsItsPromises(t *testing.T) {
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newWorld(t, seed)
				x.mayEnd = seed%5 > 1
				for range 500 {
					x.step()
					x.check()
				}
				x.finish()
			})
		})
	}
}

// TestWorker_SameEvents_SameEffects runs one seed twice.
func TestWorker_SameEvents_SameEffects(t *testing.T) {
	trace := func() (list []string) {
		synctest.Test(t, func(t *testing.T) {
			x := newWorld(t, 7)
			x.keeps = true
			for range 1000 {
				x.step()
			}
			list = x.s.seen
			x.finish()
		})
		return list
	}
	if a, b := trace(), trace(); len(a) < 200 || !slices.Equal(a, b) {
		t.Errorf("the effects of two equal runs differ: %d and %d", len(a), len(b))
	}
}

// check looks at the promises that hold at any time.
func (x *world) check() {
	w := x.w
	for _, line := range x.s.seen {
		var told bool
		if n, _ := fmt.Sscanf(line, "daemon: blocked %t", &told); n == 1 {
			if told == x.lent {
				x.t.Fatalf("the daemon is told twice that the CPUs are lent: %v", told)
			}
			x.lent = told
		}
		var n int
		if k, _ := fmt.Sscanf(line, "unpin %d", &n); k == 1 {
			x.unpins += n
		}
	}
	if !x.keeps {
		x.s.takes()
	}
	c := w.Counts()
	if c.Lent != x.lent || c.Blocked > 0 && !c.Lent || c.Lent && c.Blocked == 0 && c.Running == 0 {
		x.t.Fatalf("lent %v, told %v, %d block, %d run", c.Lent, x.lent, c.Blocked, c.Running)
	}
	if n := len(x.in(blocked)); c.Blocked != n {
		x.t.Fatalf("%d calls block, %d count as blocked", n, c.Blocked)
	}
	if c.Waiting == 0 && c.Backlog != 0 || c.Backlog < 0 {
		x.t.Fatalf("%d calls wait, of %d bytes", c.Waiting, c.Backlog)
	}
	if full := c.Full; full && c.Backlog <= w.backlog.most/2 {
		x.t.Fatalf("callers are held with %d bytes", c.Backlog)
	}
	x.checkGenerators()
	x.checkThreads()
	w.eachLane(func(l *Lane) {
		n := 0
		for _, k := range l.queue {
			if k.deferred {
				n++
			}
		}
		if n != l.deferred {
			x.t.Fatalf("%d calls are deferred, %d count", n, l.deferred)
		}
	})
}

// unended lists the calls that are still to be answered: when the worker ends nobody answers those that have not begun.
func (x *world) unended() []*sent {
	if x.left || x.ended != "" {
		return x.in(fetching, begun, blocked)
	}
	return x.in(queued, fetching, begun, blocked)
}

// finish ends everything, and then looks at what is left.
func (x *world) finish() {
	defer x.s.mu.Unlock()
	x.check()
	for round := 0; len(x.unended()) > 0; round++ {
		if round > 10_000 {
			x.t.Fatalf("%d calls are never answered", len(x.unended()))
		}
		for _, p := range x.senders {
			p.pipe.full = false
		}
		x.flush()
		for _, k := range x.in(blocked) {
			k.stands = begun
			x.w.Unblock()
		}
		x.consumeAll()
		for _, k := range x.in(begun) {
			answers(x.w, k.call, 0)
			x.ends(k)
		}
		for _, k := range x.in(fetching) {
			x.w.Begin(k.call)
			k.stands = begun
		}
		x.arrives()
		for _, group := range x.groups {
			x.takes(group)
		}
		x.flush()
		x.comeBack()
		x.check()
	}
	x.checkEnd()
	x.pass(time.Second)
	x.check()
	c := x.w.Counts()
	held := 0
	for _, k := range x.calls {
		held += k.held
	}
	if c.Running != 0 || c.Waiting != 0 || c.Backlog != 0 || c.Blocked != 0 || c.Lent || c.Full || len(x.w.canceled) != 0 || held != x.unpins && !x.keeps {
		x.t.Errorf("in the end %+v, %d cancellations are not asked for, of %d objects that were held %d are let go of", c, len(x.w.canceled), held, x.unpins)
	}
}
