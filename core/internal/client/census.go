package client

import (
	"bytes"
	"os"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// answerCensus answers what this process holds; it runs on the daemon connection's goroutine.
func (c *Client) answerCensus(q *wire.CensusAsk) *wire.ProcessCensus {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &wire.ProcessCensus{Pid: os.Getpid(), Role: c.opts.Role, WorkerID: bytes.Clone(c.info.Worker[:]), JobID: c.info.Job[:]}
	if c.exec != nil {
		if actor := c.exec.ActorID(); actor != (ids.Actor{}) {
			t.ActorID = actor[:]
		}
	}
	c.TakeDrops() // what the program has just let go of is not held any more
	t.Owned, t.Borrows = c.table.Len()
	if q.Objects {
		c.sites.AddObjects(t, c.table, q.Limit, &c.submit)
	}
	if q.Tasks {
		c.addTasks(t, q.Limit)
	}
	return t
}

func (c *Client) addTasks(t *wire.ProcessCensus, limit int) {
	c.submit.AddTasks(t, limit, c.sites.Site)
	if c.exec != nil {
		c.exec.AddRuns(t, limit)
	}
	c.submit.CountEnded(t, limit)
}

// lastRuns returns what this worker has run last, for the time after its end. A call that it still runs is the one which ends it; mu held.
func (c *Client) lastRuns() []wire.TaskRow {
	if c.exec == nil {
		return nil
	}
	var t wire.ProcessCensus
	c.exec.AddRuns(&t, wire.MaxLastRuns)
	for i := range t.Ran {
		if r := &t.Ran[i]; r.State == wire.TaskRunning {
			r.State, r.EndedUs = wire.TaskFinished, time.Now().UnixMicro()
		}
	}
	return t.Ran
}
