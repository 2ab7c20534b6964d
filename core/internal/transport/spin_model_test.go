package transport

import (
	"testing"
	"time"
)

// A model of two processes that call one by one: a caller and a worker, each with the
// spinner of the product, and a clock that only the model moves. It shows what the rules
// of looking come to on machines that this one is not.

// side is one of the two processes.
type side struct {
	spinner
	began  time.Duration // when its wait began
	look   time.Duration // how long it looks; 0: it sleeps at once
	looked time.Duration // in all, without finding anything
	slept  int           // waits
}

func (s *side) wait(now time.Duration) {
	s.began, s.look = now, 0
	if s.wanted() {
		s.look = s.length()
	}
}

// wakes returns when the side runs again after something came for it, and whether it had slept.
func (s *side) wakes(came, cost time.Duration) (at time.Duration, slept bool) {
	if s.look > 0 {
		if came <= s.began+s.look {
			s.found()
			return max(came, s.began), false
		}
		s.missed(s.look)
		s.looked += s.look
	}
	s.slept++
	return max(came, s.began) + cost, true
}

// model is a machine and what is called there.
type model struct {
	wake       func(call int) time.Duration // what a wake-up costs
	run, think time.Duration                // of the function; of the caller between two calls

	caller, worker side
	now            time.Duration
}

func newModel(wake, run, think time.Duration) *model {
	m := &model{wake: func(int) time.Duration { return wake }, run: run, think: think}
	m.caller.skips, m.worker.skips = spinFirst, spinFirst
	m.worker.wait(0)
	return m
}

// calls makes n calls and returns what one took.
func (m *model) calls(n int) time.Duration {
	began := m.now
	m.caller.slept, m.worker.slept, m.caller.looked, m.worker.looked = 0, 0, 0, 0
	for i := range n {
		sent := m.now
		m.worker.spinner.wakeup.told(m.caller.spinner.wakeup.cost())
		starts, _ := m.worker.wakes(sent, m.wake(i))
		answered := starts + m.run
		m.caller.wait(sent)
		got, slept := m.caller.wakes(answered, m.wake(i))
		if slept {
			m.caller.spinner.wakeup.add(got - sent - m.run)
		}
		m.worker.wait(answered)
		m.now = got + m.think
	}
	return (m.now-began)/time.Duration(n) - m.think
}

const modelWarm = 2000

func TestModel_ShortCalls_BothEndsStayAwakeWhateverWakingCosts(t *testing.T) {
	for _, wake := range []time.Duration{5, 10, 20, 50, 60, 100, 160, 200, 300, 400} {
		for _, run := range []time.Duration{1, 10, 40} {
			m := newModel(wake*time.Microsecond, run*time.Microsecond, 5*time.Microsecond)
			m.calls(modelWarm)
			if took := m.calls(1000); took > m.run || m.caller.slept+m.worker.slept > 0 {
				t.Errorf("waking costs %v us, a call runs %v us: it takes %v; the caller slept %d times, the worker %d",
					int(wake), int(run), took, m.caller.slept, m.worker.slept)
			}
		}
	}
}

func TestModel_ShortCalls_SoonAwake(t *testing.T) {
	for _, wake := range []time.Duration{20, 100, 400} {
		m := newModel(wake*time.Microsecond, 10*time.Microsecond, 5*time.Microsecond)
		n := 0
		for ; n < modelWarm; n++ {
			if m.calls(1); m.caller.slept+m.worker.slept == 0 {
				break
			}
		}
		if n > 100 {
			t.Errorf("waking costs %v us: both ends sleep for %d calls", int(wake), n)
		}
	}
}

func TestModel_ACallerThatThinks_IsAwaitedForAsLongAsWakingCosts(t *testing.T) {
	m := newModel(150*time.Microsecond, 10*time.Microsecond, 200*time.Microsecond)
	m.calls(modelWarm)
	if took := m.calls(1000); took > m.run {
		t.Errorf("a call takes %v, of which it runs %v", took, m.run)
	}
}

func TestModel_LongCalls_HardlyEverLook(t *testing.T) {
	for _, wake := range []time.Duration{5, 20, 100, 400, 2000} {
		for _, run := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
			m := newModel(wake*time.Microsecond, run, time.Millisecond)
			m.calls(modelWarm)
			before := m.now
			m.calls(5000)
			for name, s := range map[string]*side{"caller": &m.caller, "worker": &m.worker} {
				if share := float64(s.looked) / float64(m.now-before); share > 0.001 {
					t.Errorf("waking costs %v us, calls run %v: the %s looks for %.2f %% of the time", int(wake), run, name, 100*share)
				}
			}
		}
	}
}

// Where others compute a wake-up now and then waits for a processor.
func TestModel_WakeUpsThatWaitForAProcessor_DoNotMakeLooksLong(t *testing.T) {
	m := newModel(0, 10*time.Microsecond, 5*time.Microsecond)
	m.wake = func(call int) time.Duration {
		return []time.Duration{10, 900, 10, 400, 1500, 10, 700, 300}[call%8] * time.Microsecond
	}
	for range modelWarm {
		m.caller.misses, m.caller.skips = spinMisses, 1 // it is never the one that looks
		m.calls(1)
	}
	if got := m.caller.length(); got > 2*spinAtLeast {
		t.Errorf("a look lasts %v", got)
	}
}

func TestWakeup_WhatIsNoWakeUp_IsNotLearned(t *testing.T) {
	var w wakeup
	for _, cost := range []time.Duration{-time.Second, 0, wakeupMost + 1, time.Hour} {
		for range wakeupEnough {
			w.add(cost)
		}
		if w.cost() != 0 {
			t.Errorf("calls that took %v longer than they ran: a wake-up costs %v", cost, w.cost())
		}
	}
}

func TestWakeup_OwnMeasurementsCountMoreThanWhatOthersTell(t *testing.T) {
	var w wakeup
	if w.told(300 * time.Microsecond); w.cost() != 300*time.Microsecond {
		t.Errorf("told 300 us, it says %v", w.cost())
	}
	for range wakeupSamples {
		w.add(40 * time.Microsecond)
	}
	if w.told(300 * time.Microsecond); w.cost() != 40*time.Microsecond {
		t.Errorf("measured 40 us and told 300, it says %v", w.cost())
	}
	for range wakeupSamples { // the machine has changed
		w.add(200 * time.Microsecond)
	}
	if w.cost() != 200*time.Microsecond {
		t.Errorf("measured 200 us lately, it says %v", w.cost())
	}
}

func TestSpinner_LongLooks_TakeNoMoreTimeThanShortOnes(t *testing.T) {
	share := func(cost time.Duration) (looked time.Duration) {
		s := spinner{wakeup: wakeup{known: cost}}
		for range 100_000 {
			if s.wanted() {
				s.missed(s.length())
				looked += s.length()
			}
		}
		return looked
	}
	short := share(0)
	for _, cost := range []time.Duration{200 * time.Microsecond, time.Millisecond} {
		if long := share(cost); long > short*3/2 {
			t.Errorf("with wake-ups of %v vain looks take %v, with cheap ones %v", cost, long, short)
		}
	}
}
