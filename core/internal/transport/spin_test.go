package transport

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wait"
)

// waits tells of a row of waits which begin with looking.
func waits(s *spinner, n int) (looks []int) {
	for i := range n {
		if s.wanted() {
			looks = append(looks, i)
			s.missed(spinAtLeast)
		}
	}
	return looks
}

func TestSpinner_VainLooks_GetRarerToALimit(t *testing.T) {
	var s spinner
	looks := waits(&s, 1000)
	for i, gap := range []int{2, 4, 8, 16, 32, 64, 64, 64} {
		if got := looks[i+1] - looks[i]; got != gap {
			t.Errorf("look %d came %d waits after the one before, want %d", i+1, got, gap)
		}
	}
}

func TestSpinner_OneThatWasNotVain_TheNextWaitLooksToo(t *testing.T) {
	s := spinner{misses: spinMisses}
	for range 3 {
		if !s.wanted() {
			t.Fatal("no look after one that was not vain")
		}
		s.found()
	}
	s.missed(spinAtLeast)
	if looks := waits(&s, 10); len(looks) == 0 || looks[0] != 1 {
		t.Errorf("after one vain look waits %v look, want the second first", looks)
	}
}

func TestPlan_WhatMayTakeLong_Sleeps(t *testing.T) {
	looks := func(change func(p *Poller, h *fakeHost)) bool {
		p, h := newPoller(t)
		p.spinner.skips = 0
		change(p, h)
		return p.plan(-1, p.mayLook(), false).look > 0
	}
	if got := looks(func(*Poller, *fakeHost) {}); got != (cpus > 1) {
		t.Errorf("a wait for one answer looks: %v, want %v", got, cpus > 1)
	}
	for what, change := range map[string]func(p *Poller, h *fakeHost){
		"many calls are under way": func(_ *Poller, h *fakeHost) { h.unanswered = spinCalls + 1 },
		"the last look was vain":   func(p *Poller, _ *fakeHost) { p.spinner.missed(spinAtLeast) },
	} {
		if looks(change) {
			t.Errorf("it looks where %s", what)
		}
	}
	var fresh sleeper
	if s := fresh.plan(0, true, false); s.look > 0 || !fresh.spinner.wanted() {
		t.Error("a wait of no time looks, or counts")
	}
}

func TestLook_SeesWhatComesAndEndsSoon(t *testing.T) {
	p, _ := newPoller(t)
	began := time.Now()
	if n := p.look(spinAtLeast); n != 0 || time.Since(began) < spinAtLeast || p.spinner.misses != 1 {
		t.Errorf("nothing comes: %d events after %v, %d misses", n, time.Since(began), p.spinner.misses)
	}
	if _, err := unix.Write(p.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	if n := p.look(spinAtLeast); n != 1 || int(p.events[0].Fd) != p.bell || p.spinner.misses != 0 {
		t.Errorf("the bell rang: %d events, of %d, %d misses", n, p.events[0].Fd, p.spinner.misses)
	}
}

func TestLook_LongOne_EndsEarlyWhereOthersWaitForAProcessor(t *testing.T) {
	defer func(n int) { cpus = n }(cpus)
	p, _ := newPoller(t)
	const long = 20 * time.Second
	cpus = 0 // this test alone is one too many
	began := time.Now()
	if p.look(long) != 0 || p.spinner.misses != 1 || time.Since(began) >= long {
		t.Errorf("a look ended after %v, with %d vain looks in a row", time.Since(began), p.spinner.misses)
	}
	cpus = 1 << 20
	began = time.Now()
	if p.look(4*spinAtLeast) != 0 || time.Since(began) < 4*spinAtLeast {
		t.Errorf("with processors for all a look of %v ended after %v", 4*spinAtLeast, time.Since(began))
	}
}

// A look takes no notice of signals. So a thread that runs signal handlers
// between two waits comes back after a vain look, and sleeps in its next wait.
func TestPoll_VainLookOfAThreadWithSignalHandlers_ComesBackOnceAndThenSleeps(t *testing.T) {
	if cpus == 1 {
		t.Skip("with one CPU nobody looks")
	}
	p, _ := newPoller(t)
	p.spinner.skips = 0
	w := wait.New()
	w.Signals = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leader = w
	p.poll(1000)
	if !w.Early() || !w.Over() {
		t.Error("after a vain look the thread does not come back: a signal that came meanwhile would not be seen")
	}
	if s := p.plan(1000, p.mayLook(), true); s.look > 0 {
		t.Error("the thread's next wait looks as well: with nothing to do it would never sleep")
	}
	p.leader = nil
}
