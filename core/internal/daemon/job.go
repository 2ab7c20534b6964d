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
	outputs, tell := d.endOrLeave(j, stays, s, message)
	if tell {
		d.head.EndJob(j.ID, s, message)
	}
	return outputs
}

// endOrLeave ends a job, or notes that only its driver has left. It reports whether the job
// is to be told to the head. In a cluster the head decides whether the job is over, because it knows the detached actors on all nodes.
func (d *Daemon) endOrLeave(j *job, stays bool, s record.JobState, message string) (outputs []*workers.Output, tell bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case j.ended || j.left || d.closing:
		return nil, false
	case stays || j.registering > 0:
		return d.driverLeaves(j, s, message), d.o.Cluster != nil && j.registering == 0
	}
	return d.jobOver(j), true
}
