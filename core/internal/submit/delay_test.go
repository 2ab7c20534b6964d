package submit

import (
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/waiting"
)

// Retries that are soon over are not worth a word; of those that are, tasks of
// one function are counted together.
func TestWaitingToRetry_OnlyTheLongOnes_ByFunction(t *testing.T) {
	now := time.Now()
	long, short := now.Add(-waiting.After+waiting.Pause), now.Add(-waiting.After+waiting.Pause+1)
	f, g := &Template{Name: "f"}, &Template{Name: "g"}
	c := alone()
	c.Delayed = map[*Task]*Delay{
		{Template: f, First: 3}: {since: long, until: now.Add(1500 * time.Millisecond), why: "its worker died"},
		{Template: f, First: 1}: {since: long, until: now.Add(1500 * time.Millisecond), why: "its worker died"},
		{Template: f, First: 2}: {since: short},
		{Template: g, First: 4}: {since: short},
	}
	var l waiting.List
	some := c.waitingToRetry(&l, now)
	got := l.All
	if !some || len(got) != 1 || got[0].Name != "f" || got[0].Tasks != 2 || got[0].Why != "it is tried again in 1.5s: its worker died" {
		t.Errorf("got %+v", got)
	}
	var order []uint64
	for _, task := range c.delayedTasks() {
		order = append(order, task.First)
	}
	if len(order) != 4 || order[0] != 1 || order[1] != 2 || order[2] != 3 || order[3] != 4 {
		t.Errorf("in the order of %v", order)
	}
	if past := (&Delay{until: now.Add(-time.Second), why: "x"}).describe(now); !strings.Contains(past, "again in 0s") {
		t.Errorf("what is overdue says %q", past)
	}
}
