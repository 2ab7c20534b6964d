package daemon

import (
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// endJob ends what runs for a job. It returns the workers' outputs that are to be drained,
// nil if the job had ended before. While a detached actor of the job lives, or may be
// registered, only the driver leaves.
func (d *Daemon) endJob(j *job, s record.JobState, message string) []*workers.Output {
	stays, _ := d.hasDetached(j)
	outputs, over := d.endOrLeave(j, stays, s, message)
	if over {
		d.head.EndJob(j.ID, s, message)
	}
	return outputs
}

// endOrLeave ends a job, or notes that only its driver has left. It reports whether the job
// is over by this call.
func (d *Daemon) endOrLeave(j *job, stays bool, s record.JobState, message string) (outputs []*workers.Output, over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case j.ended || j.left || d.closing:
		return nil, false
	case stays || j.registering > 0:
		return d.driverLeaves(j, s, message), false
	}
	return d.jobOver(j), true
}
