package daemon

import (
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/workers"
)

// endJob ends what runs for a job. It returns the workers' outputs that are to be drained,
// nil if the job had ended before. While a detached actor of the job lives, only the
// driver leaves.
func (d *Daemon) endJob(j *job, s record.JobState, message string) []*workers.Output {
	stays := d.hasDetached(j)
	d.mu.Lock()
	if j.ended || j.left || d.closing {
		d.mu.Unlock()
		return nil
	}
	if stays {
		defer d.mu.Unlock()
		return d.driverLeaves(j, s, message)
	}
	outputs := d.jobOver(j)
	d.mu.Unlock()
	d.head.EndJob(j.ID, s, message)
	return outputs
}
