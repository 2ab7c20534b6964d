package sched

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// Work that names this node may ask to run elsewhere, or to fail, when this node has no room for it (strategy.Busy). It waits for
// strategy.Patience first, so that leases without work come back.

// spillsFrom reports whether d leaves this node, which it names, when there is no room.
func (m *Machine) spillsFrom(d *demand) bool {
	return m.o.Cluster && m.namesThis(d) && d.class.Strategy.Busy == strategy.Spills
}

// failsBusy reports whether d, which waits, fails when this node, which it names, has no room.
func (m *Machine) failsBusy(d *demand) bool {
	return d.bundles == nil && !d.client.guest && m.namesThis(d) && d.class.Strategy.Busy == strategy.Fails && d.outstanding() > 0
}

// busySince is since when the oldest want of d has found no room.
func (d *demand) busySince() time.Duration {
	if d.isActor() && len(d.queue) > 0 {
		return d.queue[0].since
	}
	return d.since
}

// failBusy fails what has waited for too long for room on this node, and reports whether something did.
func (m *Machine) failBusy() (some bool) {
	for i := len(m.waiting) - 1; i >= 0; i-- { // those that fail leave the list
		d := m.waiting[i]
		if !m.failsBusy(d) || m.now < d.busySince()+strategy.Patience {
			continue
		}
		some = true
		if !d.isActor() {
			m.failAs(d, fault.NodeBusy, d.class.Strategy.WhyBusy("task "+d.class.Name, d.class.Need.String()))
			continue
		}
		for len(d.queue) > 0 && m.now >= d.queue[0].since+strategy.Patience {
			a := d.queue[0]
			m.forgetWaiting(d, 0)
			m.emit(ActorFailed{a.id, fault.ActorUnschedulable, d.class.Strategy.WhyBusy("actor "+a.name, d.class.Need.String()), true})
		}
	}
	return some
}

// forgetWaiting forgets the actor of d with that place in the queue.
func (m *Machine) forgetWaiting(d *demand, i int) {
	delete(m.actors, d.queue[i].id)
	d.queue = append(d.queue[:i:i], d.queue[i+1:]...)
	d.want--
	m.updateWaiting(d)
}
