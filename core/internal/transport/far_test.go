package transport

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// alone sends a call as the only one, for whose answer the caller sleeps, and returns what is measured when it is answered.
func alone(k *Conn, answered func()) int {
	k.s.spinner.wakeup = wakeup{}
	k.callSent(1, 1)
	k.s.lone.slept = true
	k.s.lone.sent = time.Now().Add(-100 * time.Microsecond)
	answered()
	return k.s.spinner.wakeup.count
}

// What is measured is what waking costs on this node: calls to other nodes do not say it, nor do processes there.
func TestFar_CallsAreNotMeasured(t *testing.T) {
	defer func(n int) { cpus = n }(cpus)
	cpus = 2
	p, _ := newPoller(t)
	near, far := &Conn{s: &p.sockets, fd: 100}, &Conn{s: &p.sockets, fd: 101}
	far.MarkFar()
	if alone(near, func() { near.CallAnswered(1, 0) }) != 1 {
		t.Error("a call to a process of this node is not measured")
	}
	if alone(near, func() { far.callSent(9, 1); near.CallAnswered(1, 0) }) != 1 {
		t.Error("a call to another node ends the measurement")
	}
	if alone(near, func() { far.CallAnswered(9, 0); near.CallAnswered(1, 0) }) != 0 {
		t.Error("a call is measured although an answer from another node has woken the process before")
	}
	p.lone = lone{}
	if alone(far, func() { far.CallAnswered(1, 0) }) != 0 || p.lone.measured {
		t.Error("a call to another node is measured")
	}
	p.spinner.wakeup = wakeup{known: 300 * time.Microsecond}
	if far.TellWakeup(); len(far.out) > 0 || far.toldWakeup != 0 {
		t.Error("another node is told what waking costs here")
	}
	if near.TellWakeup(); len(near.out) == 0 {
		t.Error("a process of this node is not told what waking costs")
	}
	p.spinner.wakeup = wakeup{}
	if far.HearWakeup(300); p.spinner.wakeup.cost() != 0 {
		t.Error("what waking costs on another node counts here")
	}
	if near.HearWakeup(300); p.spinner.wakeup.cost() != 300*time.Microsecond {
		t.Error("what another process of this node has measured does not count")
	}
}

// A wait in which only calls to other nodes are under way sleeps at once.
func TestMayLook_CountsCallsToThisNode(t *testing.T) {
	defer func(n int) { cpus = n }(cpus)
	cpus = 2
	p, h := newPoller(t)
	for _, x := range []struct {
		near, far int
		want      bool
	}{{0, 0, true}, {1, 0, true}, {2, 0, false}, {0, 1, false}, {0, 9, false}, {1, 1, true}, {1, 9, true}, {2, 9, false}} {
		if h.unanswered, h.far = x.near, x.far; p.mayLook() != x.want {
			t.Errorf("%d calls to processes of this node and %d to others: looks %v", x.near, x.far, !x.want)
		}
	}
}

// A process that calls others on its own node, one by one, now and then in vain looks as often whether or not it also
// calls processes of other nodes: before, behind and beside these calls.
func TestModel_CallsToOtherNodes_LooksAreThoseWithoutThem(t *testing.T) {
	defer func(n int) { cpus = n }(cpus)
	cpus = 2
	for seed := range uint64(20) {
		var looks [2][]bool
		for i, calls := range []bool{false, true} { // to other nodes
			p, h := newPoller(t)
			local, others := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
			wait := func() (looked bool) {
				s := p.plan(-1, p.mayLook(), false)
				return s.look > 0
			}
			for range 2000 {
				if calls {
					for range others.IntN(3) { // waits for other nodes alone
						h.unanswered, h.far = 0, 1+others.IntN(9)
						if wait() {
							t.Fatalf("seed %d: it looks for an answer from another node", seed)
						}
					}
					h.far = others.IntN(9)
				}
				h.unanswered = 1
				looked := wait()
				looks[i] = append(looks[i], looked)
				if found := local.IntN(4) > 0; looked && found {
					p.spinner.found()
				} else if looked {
					p.spinner.missed(spinAtLeast)
				}
			}
		}
		if !slices.Equal(looks[0], looks[1]) {
			t.Fatalf("seed %d: with calls to other nodes it looks at other times", seed)
		}
		if n := len(slices.DeleteFunc(looks[0], func(l bool) bool { return !l })); n < 100 || n == 2000 {
			t.Errorf("seed %d: %d of 2000 waits look", seed, n)
		}
	}
}
