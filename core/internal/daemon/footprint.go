package daemon

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// footprint returns how much memory this process uses and how many entries its
// tables have. Entries of work that is over must be gone, however much work it was.
func (d *Daemon) footprint(q wire.FootprintAsk) map[string]uint64 {
	found := machine.Footprint(q.Collect)
	d.mu.Lock()
	defer d.mu.Unlock()
	envs := 0
	for _, j := range d.jobs {
		envs += j.Envs()
	}
	cancels, begun := 0, 0
	for _, c := range d.clients {
		cancels += c.pending.Len()
		begun += c.begun.Len()
	}
	for name, n := range map[string]int{
		"clients": len(d.clients), "owners": len(d.owners), "workers": len(d.workers), "jobs": len(d.jobs), "envs": envs, "actors": len(d.actors),
		"handovers": len(d.handovers), "incarnations": d.ends.Len(), "failed_starts": len(d.failedStarts), "ended_workers": len(d.ended), "cancels": cancels,
		"complaints": d.complaints.Count(), "pipes": d.pipes.Len(), "begun": begun,
	} {
		found["n_"+name] = uint64(n)
	}
	for _, sizes := range []map[string]int{d.table.Sizes(), d.objects.Sizes(), d.logs.Sizes(), d.jobsElsewhere.Sizes(), d.packages.Sizes(), d.provided.Sizes(), d.pulls.Sizes()} {
		for name, n := range sizes {
			found["n_"+name] = uint64(n)
		}
	}
	for name, n := range d.m.Sizes() {
		found["n_sched_"+name] = uint64(n)
	}
	return found
}

// countWait is how long the head may take to count what it keeps.
const countWait = 3 * time.Second

// answerFootprint serves a request, on a goroutine of its own.
func (d *Daemon) answerFootprint(_ *client, m *wire.Message) {
	var q wire.FootprintAsk
	if err := m.Decode(&q); err != nil {
		_ = m.Fail(err)
		return
	}
	found := d.footprint(q)
	if d.headIsSet() {
		ctx, cancel := context.WithTimeout(d.ctx, countWait)
		defer cancel()
		sizes, err := d.head.Sizes(ctx)
		if err != nil {
			_ = m.Fail(inquiry.Unanswered("count what the head keeps", countWait, err))
			return
		}
		for name, n := range sizes {
			found["n_head_"+name] = uint64(n)
		}
	}
	_ = m.Reply(found)
}
