package client

import (
	"strings"
	"testing"
	"time"
)

func TestBackoff_DoublesToItsBound_GiveOrTakeAQuarter(t *testing.T) {
	const base, most = 100 * time.Millisecond, 2 * time.Second
	for n, middle := range []time.Duration{0, base, 2 * base, 4 * base, 8 * base, 16 * base, most, most} {
		least, greatest := time.Hour, time.Duration(0)
		for range 2000 {
			d := Backoff(n, base, most)
			least, greatest = min(least, d), max(greatest, d)
		}
		if least < middle*3/4 || greatest > middle*5/4 {
			t.Errorf("retry %d waits %v to %v, want about %v", n, least, greatest, middle)
		}
		if middle > 0 && (least > middle*9/10 || greatest < middle*11/10) {
			t.Errorf("retry %d waits %v to %v: all retry at the same moment", n, least, greatest)
		}
	}
	if d := Backoff(10_000, base, most); d < most*3/4 || d > most*5/4 {
		t.Errorf("retry 10,000 waits %v", d)
	}
}

// Retries that are soon over are not worth a word; of those that are, tasks of
// one function are counted together.
func TestWaitingToRetry_OnlyTheLongOnes_ByFunction(t *testing.T) {
	now := time.Now()
	long, short := now.Add(-pendingAfter+pendingLook), now.Add(-pendingAfter+pendingLook+1)
	f, g := &Template{Name: "f"}, &Template{Name: "g"}
	c := bare(&Client{})
	c.delayed = map[*task]*delay{
		{tmpl: f, first: 3}: {since: long, until: now.Add(1500 * time.Millisecond), why: "its worker died"},
		{tmpl: f, first: 1}: {since: long, until: now.Add(1500 * time.Millisecond), why: "its worker died"},
		{tmpl: f, first: 2}: {since: short},
		{tmpl: g, first: 4}: {since: short},
	}
	got := c.waitingToRetry(now)
	if len(got) != 1 || got[0].name != "f" || got[0].tasks != 2 || got[0].why != "it is tried again in 1.5s: its worker died" {
		t.Errorf("got %+v", got)
	}
	var order []uint64
	for _, task := range c.delayedTasks() {
		order = append(order, task.first)
	}
	if len(order) != 4 || order[0] != 1 || order[1] != 2 || order[2] != 3 || order[3] != 4 {
		t.Errorf("in the order of %v", order)
	}
	if past := (&delay{until: now.Add(-time.Second), why: "x"}).describe(now); !strings.Contains(past, "again in 0s") {
		t.Errorf("what is overdue says %q", past)
	}
}
