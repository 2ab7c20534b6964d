package client

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/wire"
)

// learned sends a call as the only one, has it answered, and returns how many measurements there are.
func learned(slept bool, before func(c *Client, t *task)) int {
	c, t := &Client{inflight: 1}, &task{}
	c.sentLone(t)
	c.lone.slept = slept
	c.lone.sent = c.lone.sent.Add(-time.Millisecond)
	before(c, t)
	c.answeredLone(t, 100*time.Microsecond)
	return c.spinner.wakeup.count
}

func TestLone_OnlyCallsThatWereAloneAndSleptFor_AreMeasured(t *testing.T) {
	nothing := func(*Client, *task) {}
	if learned(true, nothing) != 1 {
		t.Error("a call that was alone, and slept for, is not measured")
	}
	if learned(false, nothing) != 0 {
		t.Error("a call is measured whose answer was found without sleeping")
	}
	if learned(true, func(c *Client, _ *task) { c.inflight = 2; c.sentLone(&task{}) }) != 0 {
		t.Error("a call is measured that another one was sent behind")
	}
	if learned(true, func(c *Client, _ *task) { c.sentLone(&task{}) }) != 0 {
		t.Error("a call is measured that was not the latest")
	}
}

func TestLone_CountsWhatTheCallTookBeyondItsRun(t *testing.T) {
	c, k := &Client{inflight: 1}, &task{}
	for range wakeupEnough {
		c.sentLone(k)
		c.lone.slept = true
		c.lone.sent = c.lone.sent.Add(-900 * time.Microsecond)
		c.answeredLone(k, 600*time.Microsecond)
	}
	if got := c.spinner.wakeup.cost(); got < 300*time.Microsecond || got > wakeupMost {
		t.Errorf("calls took 900 us and a little, of which they ran 600: waking costs %v", got)
	}
}

func TestWakeup_IsToldWhenItIsNews(t *testing.T) {
	in := &inConn{conn: conn{c: &Client{}}}
	o := newOutConn(&Client{}, -1, "")
	tells := func(cost time.Duration) bool {
		o.out = nil
		o.c.spinner.wakeup.known = cost
		o.tellWakeup()
		if _, err := eachFrame(o.out, in.frame); err != nil {
			t.Fatal(err)
		}
		return len(o.out) > 0
	}
	const us = time.Microsecond
	for _, x := range []struct {
		cost time.Duration
		news bool
	}{{0, false}, {200 * us, true}, {200 * us, false}, {240 * us, false}, {300 * us, true}, {100 * us, true}} {
		if got := tells(x.cost); got != x.news {
			t.Errorf("a cost of %v: told %v, want %v", x.cost, got, x.news)
		}
	}
	if got := in.c.spinner.length(); got != 100*us {
		t.Errorf("told that waking costs 100 us, the worker looks for %v", got)
	}
	b, at := wire.BeginFrame(nil)
	b = wire.AppendUint(wire.AppendUint(wire.AppendArray(b, 2), uint64(wire.OpWakeup)), 1<<63)
	if _, err := eachFrame(wire.EndFrame(b, at), in.frame); err != nil || in.c.spinner.length() != spinAtMost {
		t.Errorf("told nonsense, the worker looks for %v (%v)", in.c.spinner.length(), err)
	}
}

func TestLoopTake_VainLook_ComesBackOnceAndThenSleeps(t *testing.T) {
	if cpus == 1 {
		t.Skip("with one CPU nobody looks")
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	c := &Client{epoll: epoll, exec: newExecutor(nil)}
	c.exec.c = c
	c.loop.waiter = newWaiter()
	c.leader = c.loop.waiter
	c.mu.Lock()
	defer c.mu.Unlock()
	c.poll(1000)
	if !c.loop.fired || !c.loop.waiter.done {
		t.Error("after a vain look the loop does not come back: a signal that came meanwhile would not be seen")
	}
	if w := c.plan(1000); w.look > 0 {
		t.Error("the loop's next wait looks as well: with nothing to do it would never sleep")
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

func TestLook_LongOne_EndsEarlyWhereOthersWaitForAProcessor(t *testing.T) {
	defer func(n int) { cpus = n }(cpus)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(epoll)
	c := &Client{epoll: epoll}
	const long = 20 * time.Second
	cpus = 0 // this test alone is one too many
	began := time.Now()
	if c.look(long) != 0 || c.spinner.misses != 1 || time.Since(began) >= long {
		t.Errorf("a look ended after %v, with %d vain looks in a row", time.Since(began), c.spinner.misses)
	}
	cpus = 1 << 20
	began = time.Now()
	if c.look(4*spinAtLeast) != 0 || time.Since(began) < 4*spinAtLeast {
		t.Errorf("with processors for all a look of %v ended after %v", 4*spinAtLeast, time.Since(began))
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

func TestSentLone_WithOneProcessor_NothingIsMeasured(t *testing.T) {
	defer func(before int) { cpus = before }(cpus)
	for number, want := range map[int]bool{1: false, 2: true} {
		cpus = number
		c := &Client{inflight: 1}
		c.sentLone(&task{})
		if got := c.lone.task != nil; got != want {
			t.Errorf("with %d processors a call by itself is measured: %v, want %v", number, got, want)
		}
	}
}
