package transport

import (
	"os"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// learned sends call 1 as the only one, has it answered, and returns how many measurements there are.
func learned(slept bool, before func(k *Conn)) int {
	k := &Conn{s: new(sockets)}
	k.callSent(1, 1)
	k.s.lone.slept = slept
	k.s.lone.sent = k.s.lone.sent.Add(-time.Millisecond)
	before(k)
	k.CallAnswered(1, 100*time.Microsecond)
	return k.s.spinner.wakeup.count
}

func TestCallAnswered_OnlyCallsThatWereAloneAndSleptFor_AreMeasured(t *testing.T) {
	nothing := func(*Conn) {}
	if learned(true, nothing) != 1 {
		t.Error("a call that was alone, and slept for, is not measured")
	}
	if learned(false, nothing) != 0 {
		t.Error("a call is measured whose answer was found without sleeping")
	}
	if learned(true, func(k *Conn) { k.callSent(2, 2) }) != 0 {
		t.Error("a call is measured that another one was sent behind")
	}
	if learned(true, func(k *Conn) { k.callSent(2, 1) }) != 0 {
		t.Error("a call is measured that was not the latest")
	}
	if learned(true, func(k *Conn) { (&Conn{s: k.s, fd: k.fd + 1}).callSent(1, 1) }) != 0 {
		t.Error("a call is measured though the latest one, of the same number, went to another process")
	}
}

func TestCallAnswered_CountsWhatTheCallTookBeyondItsRun(t *testing.T) {
	k := &Conn{s: new(sockets)}
	for range wakeupEnough {
		k.callSent(1, 1)
		k.s.lone.slept = true
		k.s.lone.sent = k.s.lone.sent.Add(-900 * time.Microsecond)
		k.CallAnswered(1, 600*time.Microsecond)
	}
	if got := k.s.spinner.wakeup.cost(); got < 300*time.Microsecond || got > wakeupMost {
		t.Errorf("calls took 900 us and a little, of which they ran 600: waking costs %v", got)
	}
}

func TestWakeup_IsToldWhenItIsNews(t *testing.T) {
	from, to := &Conn{s: new(sockets)}, &Conn{s: new(sockets)}
	hear := func(b []byte) {
		r := wire.NewReader(b[4:]) // behind the frame's length
		if n, op := r.Array(), wire.Op(r.Uint()); n != 2 || op != wire.OpWakeup {
			t.Fatalf("%d fields of op %d, want 2 of %d", n, op, wire.OpWakeup)
		}
		to.HearWakeup(r.Uint())
	}
	const us = time.Microsecond
	for _, x := range []struct {
		cost time.Duration
		news bool
	}{{0, false}, {200 * us, true}, {200 * us, false}, {250 * us, false}, {150 * us, false}, {300 * us, true}, {100 * us, true}, {75 * us, false}} {
		from.Queue(nil)
		from.s.spinner.wakeup.known = x.cost
		from.TellWakeup()
		if got := from.Unsent() > 0; got != x.news {
			t.Errorf("a cost of %v: told %v, want %v", x.cost, got, x.news)
		}
		if x.news {
			hear(from.Buffer())
		}
	}
	if got := to.s.spinner.length(); got != 100*us { // what was told last
		t.Errorf("told that waking costs 100 us, the worker looks for %v", got)
	}
	if to.HearWakeup(1 << 63); to.s.spinner.length() != spinAtMost {
		t.Errorf("told nonsense, the worker looks for %v", to.s.spinner.length())
	}
}

func TestCrowded_ReadsHowManyRun(t *testing.T) {
	for line, want := range map[string]int{
		"0.20 0.18 0.12 1/80 11206\n":        1,
		"71.20 60.18 55.12 131/4080 11206\n": 131,
		"0.00 0.00 0.00 0/0 0\n":             0,
		"":                                   0,
		"0.20 0.18":                          0,
		"0.20 0.18 0.12 many/80 11206":       0,
	} {
		if got := runningIn([]byte(line)); got != want {
			t.Errorf("%q: %d threads run, want %d", line, got, want)
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil && runningIn(b) < 1 {
		t.Errorf("%q: nobody runs, though this test does", b)
	}
}

func TestWakeup_AMachineThatHasChanged_IsKnownSoonAgain(t *testing.T) {
	for before := range 40 {
		var w wakeup
		for range wakeupSamples + before {
			w.add(200 * time.Microsecond)
		}
		for range wakeupSamples/4 + wakeupEvery {
			w.add(20 * time.Microsecond)
		}
		if w.cost() != 20*time.Microsecond {
			t.Errorf("after %d calls of 200 us and %d of 20 us it says %v", wakeupSamples+before, wakeupSamples/4+wakeupEvery, w.cost())
		}
	}
}

func TestSendCall_WithOneProcessor_NothingIsMeasured(t *testing.T) {
	defer func(before int) { cpus = before }(cpus)
	for number, want := range map[int]bool{1: false, 2: true} {
		cpus = number
		k := &Conn{s: new(sockets)}
		k.callSent(1, 1)
		if got := k.s.lone.measured; got != want {
			t.Errorf("with %d processors a call by itself is measured: %v, want %v", number, got, want)
		}
	}
}
