package daemon

import "github.com/eagleray/eagleray/core/record"

// connectionClosed lets go of what a process held that is gone. It is called when the
// pidfd of the process says so, and when its socket does; the second call finds nothing
// to do. The end of a driver is the end of its job.
func (d *Daemon) connectionClosed(c *client) {
	j := d.disconnect(c)
	if j == nil {
		return
	}
	d.endJob(j, record.JobLost, "its driver is gone")
	d.logs.Forget(j.ID)
}

// disconnect drops a process whose connection has closed, once. If the process was a driver,
// disconnect returns its job.
func (d *Daemon) disconnect(c *client) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.gone {
		return nil
	}
	d.dropClient(c)
	if c.worker != nil {
		d.table.EndDisconnected(c.worker.Worker)
	}
	return c.drives()
}
