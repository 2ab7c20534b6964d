package daemon

import (
	"time"

	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// event passes an event to the scheduler and carries out what the scheduler orders; mu held.
func (d *Daemon) event(f func(m *sched.Machine)) { d.eventOfEnd(workers.End{}, f) }

// eventOfEnd is event for the end of a worker. The scheduler then says which leases
// the worker had, and their holders are told how it ended; mu held.
func (d *Daemon) eventOfEnd(end workers.End, f func(m *sched.Machine)) {
	if d.closing {
		return
	}
	d.m.Advance(d.now())
	f(d.m)
	d.act(end)
}

// schedule passes an event of a living client to the scheduler.
func (d *Daemon) schedule(c *client, f func(*sched.Machine)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.gone {
		d.event(f)
	}
}

// tick runs at the time at which the scheduler asked to be called.
func (d *Daemon) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.event(func(*sched.Machine) {})
}

// act has the scheduler's orders carried out and sets its timer. End is how a worker ended,
// if the orders follow from that. An order may cause another event: what the scheduler
// orders then is carried out after all earlier orders; mu held.
func (d *Daemon) act(end workers.End) {
	if d.acting {
		return // the loop of the call that carries out orders finds the new ones
	}
	d.acting = true
	defer func() { d.acting = false }()
	for {
		as := d.m.Actions()
		if len(as) == 0 {
			break
		}
		for _, a := range as {
			d.perform(a, end)
		}
	}
	d.tellStock()
	if at, ok := d.m.Next(); ok {
		d.timer.Reset(max(at-d.now(), 0) + 50*time.Microsecond)
	} else {
		d.timer.Stop()
	}
}
