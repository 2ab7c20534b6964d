package execute

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wait"
)

// sessionEnded is why a worker ends whose session has ended.
const sessionEnded = "the session ended"

// thread is a thread of the program that waits for a call.
type thread struct {
	group string
	wait  *wait.Wait
}

// comes has a thread come for a call of a group, and wait when there is none.
func (x *world) comes(group string) {
	if x.ended != "" || x.takes(group) {
		return
	}
	h := &thread{group, wait.New()}
	x.w.Lane(group).Await(h.wait)
	x.threads = append(x.threads, h)
}

// comeBack has the threads come that were woken, and the generators go on that wait for room no more.
func (x *world) comeBack() {
	woken := x.threads
	x.threads = nil
	for _, h := range woken {
		if h.wait.Over() {
			x.comes(h.group)
		} else {
			x.threads = append(x.threads, h)
		}
	}
	for _, k := range generators(x.in(begun, blocked)) {
		if room := k.items.room; room != nil && room.Over() {
			k.items.room = nil
		}
	}
	if x.leaver != nil && x.leaver.Over() {
		if n := x.w.Running(); n > 0 && x.ended == "" {
			x.t.Fatalf("the end of the actor goes on while %d calls run", n)
		}
		x.leaver = nil
		x.stop("exited")
	}
}

// leavesOrStops ends the worker in one of the ways in which it may end.
func (x *world) leavesOrStops() {
	run := x.in(begun)
	switch n := x.r.IntN(6); {
	case x.ended != "":
		x.stop("killed again")
		if got := x.w.Ended(); got != x.ended {
			x.t.Fatalf("the worker ends because %q, and ended before because %q", got, x.ended)
		}
	case n < 3 && x.actor && !x.left && len(run) > 0:
		k := pick(x.r, run)
		if x.r.IntN(2) == 0 {
			x.runsAlone(k)
		}
		last := x.w.Running() == 1
		x.left = true
		x.w.Leave(k.call.Token())
		if last {
			if k.stands == over {
				x.t.Fatalf("%s is answered although the actor's end tells its caller more", name(k.from, k.seq))
			}
			k.stands = over
		}
		x.ends(k)
		if k.stands != over {
			x.t.Fatalf("%s, which ends the actor, is not answered although other calls run", name(k.from, k.seq))
		}
		x.leaver = wait.New()
		if !x.w.AwaitLast(x.leaver) {
			x.leaver = nil
			if x.w.Running() > 0 {
				x.t.Fatalf("nobody waits for the %d calls that still run", x.w.Running())
			}
			x.stop("exited")
		}
	case n < 4:
		x.w.EndSession()
		x.stopped(sessionEnded)
	default:
		x.stop("killed")
	}
}

// runsAlone ends all calls that run but one.
func (x *world) runsAlone(k *sent) {
	for _, other := range x.in(fetching, begun, blocked) {
		switch {
		case other == k:
			continue
		case other.stands == blocked:
			x.w.Unblock()
		}
		x.w.AnswerFault(other.call, fault.New(fault.Internal, "it ends early"))
		x.ends(other)
	}
}

// stop has the worker end for a reason. The first reason holds.
func (x *world) stop(why string) {
	x.w.Stop(why)
	if x.ended == "" {
		x.stopped(why)
	}
}

// stopped looks at a worker that has just been told to end: everybody who waits for calls, or for their end, has been woken.
func (x *world) stopped(why string) {
	x.ended = why
	if got := x.w.Ended(); got != why || x.w.Going() {
		x.t.Fatalf("the worker ends because %q, want %q", got, why)
	}
	if i := slices.IndexFunc(x.threads, func(h *thread) bool { return !h.wait.Over() }); i >= 0 {
		x.t.Fatalf("a thread of group %q still waits for a call", x.threads[i].group)
	}
	if x.leaver != nil && !x.leaver.Over() {
		x.t.Fatal("the thread that ends the actor still waits for the last call")
	}
	if !slices.Contains(x.s.seen, "no more calls") {
		x.t.Fatal("the session is not told that no more calls come")
	}
	x.threads = nil
}

// checkThreads looks whether a thread waits for a call that can begin, or for the end of calls that have ended.
func (x *world) checkThreads() {
	if x.leaver != nil && !x.leaver.Over() && x.w.Running() == 0 {
		x.t.Fatal("the thread that ends the actor waits although no call runs")
	}
	for _, h := range x.threads {
		if l := x.w.Lane(h.group); !h.wait.Over() && x.w.Head(l) != nil {
			x.t.Fatalf("a thread of group %q waits although %s can begin", h.group, x.s.callName(x.w.Head(l)))
		}
	}
}

// checkEnd looks at a worker that has ended: what has not begun never does, and goes with its callers.
func (x *world) checkEnd() {
	if x.left || x.ended != "" {
		for _, group := range x.groups {
			if k := x.w.Head(x.w.Lane(group)); k != nil && x.left {
				x.t.Fatalf("%s is to begin although the program ends the actor", x.s.callName(k))
			}
		}
		for _, p := range x.senders {
			if !p.gone {
				x.leaves(p)
			}
		}
	}
	if x.left && x.ended == "" {
		x.t.Error("the thread that ends the actor still waits for the last call")
	}
	for _, p := range x.senders {
		if len(p.feeds) > 0 && !p.gone {
			x.t.Errorf("%d generators of %s are left", len(p.feeds), p.Addr)
		}
	}
	if len(x.w.feeding) > 0 {
		x.t.Errorf("%d generators are on the list of those that run", len(x.w.feeding))
	}
}
