package submit

import (
	"fmt"
	"testing"

	"github.com/eagleray/eagleray/core/internal/generators"
	"github.com/eagleray/eagleray/core/internal/retry"
)

// All runs of a generator have one budget, and a setback that costs nothing leaves each run's own count alone.
func TestSpend_RunsOfAGenerator_ShareOneBudget(t *testing.T) {
	tm := &Template{MaxRetries: 3}
	first := &Task{Template: tm, Generator: new(generators.Generator)}
	second := &Task{Template: tm, Generator: generatorWith("first", first.Generator, "again", true)}
	c := alone()
	for i, x := range []struct {
		t     *Task
		s     retry.Setback
		total int32
		own   string
	}{
		{first, retry.WorkerDied, 1, "1 0"},
		{second, retry.ResultLost, 2, "1 2"},
		{first, retry.NotBegun, 2, "1 2"},
		{first, retry.Raised, 3, "3 2"},
		{second, retry.NotBegun, 3, "3 2"},
	} {
		if v := c.retry(x.t, x.s); !v.Again() {
			t.Errorf("step %d: refused for reason %d", i, v.Refusal)
		}
		own := fmt.Sprint(first.Tries, second.Tries)
		if first.Tried() != x.total || second.Tried() != x.total || own != x.own {
			t.Errorf("step %d: %d and %d tries, want %d; of their own %s, want %s", i, first.Tried(), second.Tried(), x.total, own, x.own)
		}
	}
	if v := c.retry(second, retry.WorkerDied); v.Refusal != retry.UsedUp {
		t.Errorf("after all retries: refused for reason %d", v.Refusal)
	}
}

// Between a verdict and the moment in which its cost is counted another run of the generator may spend more. The
// shared count keeps the greater number, so nobody gets a retry back.
func TestSpend_AnotherRunHasSpentMoreSince_SharedBudgetDoesNotShrink(t *testing.T) {
	tm := &Template{MaxRetries: 3}
	first := &Task{Template: tm, Generator: new(generators.Generator)}
	second := &Task{Template: tm, Generator: generatorWith("first", first.Generator, "again", true)}
	c := alone()
	for _, s := range []retry.Setback{retry.WorkerDied, retry.NotBegun} {
		late := c.judge(first, s)
		for range 2 {
			c.retry(second, retry.Raised)
		}
		spent, own := second.Tried(), first.Tries
		first.spend(&late)
		if first.Tried() != spent || second.Tried() != spent || first.Tries != own {
			t.Errorf("setback %d is counted late: the runs count %d and %d tries, %d of the first run's own; want %d, %d and %d", s, first.Tried(), second.Tried(), first.Tries, spent, spent, own)
		}
	}
}
