package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// counter is a world whose machine counts the messages of a channel. It is wrong when bad is set and three came.
type counter struct {
	die       *Die
	log       *Log
	net       *Net[string, int]
	sent, got int
	bad       bool
}

func (c *counter) Step() error {
	if c.die.OneIn(2) {
		c.sent++
		c.net.Send("a", c.sent)
	} else if k, m, ok := c.net.Deliver(); ok {
		c.got++
		c.log.Note("%s: %d", k, m)
		if m != c.got || c.bad && m == 3 {
			return fmt.Errorf("message %d came as number %d", m, c.got)
		}
	}
	return nil
}

func (c *counter) Finish() error {
	for _, _, ok := c.net.Deliver(); ok; _, _, ok = c.net.Deliver() {
		c.got++
	}
	if c.got != c.sent {
		return fmt.Errorf("%d came of %d", c.got, c.sent)
	}
	return nil
}

func counting(bad bool) func(*Die, *Log) World {
	return func(d *Die, l *Log) World { return &counter{die: d, log: l, net: NewNet[string, int](d), bad: bad} }
}

func TestRun_RightWorld_Passes(t *testing.T) {
	Run(t, 50, counting(false))
	Replays(t, 50, counting(false))
}

func TestFind_WrongWorld_IsFound(t *testing.T) { Find(t, 50, counting(true)) }

func TestPlay_Failure_HasTheLastEvents(t *testing.T) {
	log, err := play(1, 1000, counting(true))
	if err == nil || !strings.HasSuffix(log.String(), "     3 a: 3\n") {
		t.Errorf("%v after\n%s", err, log)
	}
	_, err = play(1, 1, func(*Die, *Log) World { panic("so") })
	if err == nil || !strings.HasPrefix(err.Error(), "panic: so") {
		t.Errorf("a panic is %v", err)
	}
}

func TestLog_ManyEvents_KeepsTheLast(t *testing.T) {
	var a, b Log
	for i := range 500 {
		a.Note("event %d", i)
		b.Note("event %d", max(1, i))
	}
	if lines := strings.Split(strings.TrimSpace(a.String()), "\n"); len(lines) != kept || a.Count() != 500 || lines[0] != "301 event 300" {
		t.Errorf("%d lines of %d events, the first is %q", len(lines), a.Count(), lines[0])
	}
	if a.sum == b.sum || a.String() != b.String() {
		t.Error("the sum tells no difference in the first event")
	}
}

func TestNet_BlockedChannel_KeepsItsOrder(t *testing.T) {
	n := NewNet[string, int](NewDie(1))
	for i := range 10 {
		n.Send("a", i)
		n.Send("b", i)
	}
	n.Block("a")
	var got []int
	for k, m, ok := n.Deliver(); ok; k, m, ok = n.Deliver() {
		if k != "b" {
			t.Fatalf("message of %s", k)
		}
		got = append(got, m)
	}
	if n.Waiting("a") != 10 || len(got) != 10 || !slices.IsSorted(got) {
		t.Errorf("%d wait, and %v came", n.Waiting("a"), got)
	}
	n.UnblockAll()
	n.Lose("a")
	left := n.Waiting("a")
	for i := range left {
		if _, m, ok := n.Deliver(); !ok || m != i {
			t.Errorf("message %d, %v, want %d", m, ok, i)
		}
	}
}

func TestClock_Until_IsEnoughAndNotMuch(t *testing.T) {
	d := NewDie(3)
	for range 1000 {
		c, now, wait := NewClock(d), d.Duration(time.Hour), d.Duration(time.Minute)
		at := c.At(now) + wait
		then := now + c.Until(now, at)
		if c.At(then) < at || c.At(then) > at+wait/100+time.Millisecond {
			t.Fatalf("%+v at %v: after %v it shows %v, want %v", c, now, c.Until(now, at), c.At(then), at)
		}
	}
}
