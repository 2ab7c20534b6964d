package daemon

import (
	"context"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// createGroup makes a placement group; the head then has its bundles set aside.
func (d *Daemon) createGroup(ctx context.Context, c *client, m *wire.Message) (any, error) {
	by, err := d.makerOfGroup(c)
	if err != nil {
		return nil, err
	}
	g, err := groups.Record(by, m)
	if err != nil {
		return nil, err
	}
	for i := range g.Bundles {
		if err := checkAmounts(g.Bundles[i].Resources); err != nil {
			return nil, err
		}
		d.awaitMemory(g.Bundles[i].Resources)
	}
	return nil, d.head.CreateGroup(ctx, g)
}

func (d *Daemon) makerOfGroup(c *client) (by groups.Maker, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.job == nil {
		return by, fault.New(fault.BadRequest, "the process that makes a placement group has no job")
	}
	by = groups.Maker{Job: c.job.ID, Namespace: c.job.namespace, Owner: c.self.Owner(), Lasting: c.outlives(), Waits: d.o.WaitForFit || d.o.CanGrow}
	if c.worker != nil && c.worker.actor != nil {
		by.Actor = c.worker.actor.rec.ID
	}
	return by, nil
}

// Event gives the scheduler an event. Whoever sets bundles of placement groups aside has it do so.
func (d *Daemon) Event(f func(*sched.Machine)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(f)
}
