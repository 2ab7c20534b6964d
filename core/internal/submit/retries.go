package submit

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/retry"
)

// Package retry decides whether a task runs again. The other files report what
// happened to a run of a task (a setback), get the verdict from here and carry
// it out. What a retry costs is counted here and nowhere else.

// judge decides what becomes of a task after a setback; mu held. Nothing is
// counted before spend is called.
func (c *Submitter) judge(t *Task, s retry.Setback) retry.Verdict {
	b := retry.Budget{Attempts: t.Attempts, Most: t.Template.MaxRetries, Canceled: t.Canceled, NoLineage: c.Settings.Lineage.Off}
	b.Tries = t.Tried()
	if t.actor == nil { // calls of an actor keep their order, so they are not delayed
		b.Pause = c.Settings.RetryDelay
	}
	if s == retry.MemoryRanOut {
		b.MostOOM = c.fx.Number(retry.OOMRetriesVar, retry.OOMRetries)
		b.OOMPause = time.Duration(c.fx.Number(retry.OOMDelayVar, retry.OOMDelayMs)) * time.Millisecond
	}
	return b.Decide(s)
}

// retry is judge and spend; mu held.
func (c *Submitter) retry(t *Task, s retry.Setback) retry.Verdict {
	v := c.judge(t, s)
	t.spend(&v)
	return v
}

// spend counts what a verdict costs; mu held. The count of tries never goes
// down: another run of the task's generator may have spent more of the shared
// budget since the verdict was given.
func (t *Task) spend(v *retry.Verdict) {
	before, own := t.Tried(), t.Tries
	t.Attempts = v.Used
	switch {
	case v.Used.Tries <= before: // other runs of its generator have used these
		t.Tries = own
	case t.Generator != nil:
		t.Generator.SetTried(v.Used.Tries)
	}
}

// Tried is how often the task was tried again. Runs of a generator for lost items
// count for the generator: all its runs share one budget of retries; mu held.
func (t *Task) Tried() int32 {
	if t.Generator == nil {
		return t.Tries
	}
	return max(t.Tries, t.Generator.Tried())
}

// once says why the results of a task cannot be computed again, Whole if they can; mu held.
func (c *Submitter) once(t *Task) refs.Why {
	v := c.judge(t, retry.ResultLost)
	return whyLost(&v)
}

// whyLost is the refusal as the record of the lost result keeps it.
func whyLost(v *retry.Verdict) refs.Why {
	switch v.Refusal {
	case retry.LineageOff:
		return refs.Off
	case retry.NoRetries:
		return refs.NoRetries
	case retry.UsedUp:
		return refs.Exhausted
	}
	return refs.Whole
}
