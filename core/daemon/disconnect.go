package daemon

import "github.com/eagleray/eagleray/core/record"

// connectionClosed lets go of what a process held that is gone. It is called when the
// pidfd of the process says so, and when its socket does; the second call finds nothing
// to do. The end of a driver is the end of its job.
func (d *Daemon) connectionClosed(c *client) {
	d.mu.Lock()
	if c.gone {
		d.mu.Unlock()
		return
	}
	d.dropClient(c)
	j := c.job
	driver := j != nil && j.driver == c
	if c.worker != nil {
		d.table.EndDisconnected(c.worker.Worker)
	}
	d.mu.Unlock()
	if driver {
		d.endJob(j, record.JobLost, "its driver is gone")
		if j.Sink != nil {
			j.Sink.Close()
		}
	}
}
