package sched

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// Bundles of placement groups are parts of the node that are set aside (package resource). What is asked for is set aside all at once, when it is free: the
// request takes part in the turns of its job, and leases are recalled for it. It then is prepared, and opened for the work of its group when the
// whole group has its nodes.

// Bundles are bundles of a placement group that are to be set aside together.
type Bundles = packing.Bundles

// KeptBundles are bundles that this node has, or that are waited for.
type KeptBundles = packing.Kept

// bundles is a request that waits, or what was set aside for it.
type bundles struct {
	Bundles
	demand *demand // nil: all is set aside
	open   bool    // work of the group uses them
	tried  uint64  // the ledger at which they did not fit, as Ledger.Changes counts, and one more
}

// id names a bundle of the group.
func (b *bundles) id(index int) resource.BundleID {
	return resource.BundleID{Group: b.Group.String(), Index: index}
}

// packed returns what bundles need, as packing reads it.
func packed(needs []resource.Set) []packing.Bundle {
	list := make([]packing.Bundle, len(needs))
	for i, need := range needs {
		list[i].Need = need
	}
	return list
}

// inOrder puts the bundles in the order in which they fit if they can (packing.Order).
func (m *Machine) inOrder(b Bundles) Bundles {
	index, needs := b.Index, b.Needs
	b.Index, b.Needs = nil, nil
	for _, i := range packing.Order(packed(needs), []packing.Node{{Ledger: m.ledger}}) {
		b.Index, b.Needs = append(b.Index, index[i]), append(b.Needs, needs[i])
	}
	return b
}

// PrepareBundles sets bundles aside when what they need is free. BundlesPrepared says so; a request that may not wait so long is refused by it, and so is one for
// a bundle that is open here.
func (m *Machine) PrepareBundles(job ids.Job, b Bundles) {
	m.forgetBundles(b.Group)
	if b.Ticket == 0 { // else whoever has ordered it has put it in order
		b = m.inOrder(b)
	}
	if slices.ContainsFunc(b.Index, func(i int) bool { return m.ledger.HasOpen((&bundles{Bundles: b}).id(i)) }) {
		m.emit(BundlesPrepared{Group: b.Group, Epoch: b.Epoch, N: len(b.Index), Ticket: b.Ticket})
		m.reschedule()
		return
	}
	sum := make(resource.Set)
	for _, need := range b.Needs {
		sum.Add(need)
	}
	j := m.jobOf(job)
	d := &demand{client: &j.queue, class: Class{Need: sum, Name: b.Name}, choices: []Choice{{Need: sum}}, want: 1, queue: []actorWant{{name: b.Name, since: m.now}}}
	d.bundles = &bundles{Bundles: b, demand: d}
	if b.For > 0 {
		d.stays = m.now + b.For
	}
	m.bundles[b.Group] = append(m.bundles[b.Group], d.bundles)
	m.updateWaiting(d)
	m.reschedule()
}

// WhyNoBundles says why this node alone can never have the bundles of a group, and what to change; "" if it can.
func (m *Machine) WhyNoBundles(s packing.Strategy, b Bundles) string {
	if packing.Could(s, packed(b.Needs), []packing.Node{{Ledger: m.ledger}}) {
		return ""
	}
	return packing.Why(b.Name, s, b.Needs, m.ledger.Plain(), nil)
}

// bundlesFit reports whether all bundles of a request, which waits, are free. The sum of what they need does not say so: half a device and half a device are
// not always parts of one.
func (m *Machine) bundlesFit(b *bundles) bool {
	now := m.ledger.Changes() + 1
	if b.tried == now {
		return false
	}
	if m.ledger.FitsAll(b.Needs) {
		return true
	}
	b.tried = now
	return false
}

// prepare sets the bundles of a request aside, which are known to fit.
func (m *Machine) prepare(b *bundles) {
	for i, need := range b.Needs {
		if !m.ledger.Prepare(b.id(b.Index[i]), need) {
			panic("sched: the ledger refused a bundle that fits: " + need.String())
		}
	}
}

// prepared ends the wait of a request whose bundles were set aside.
func (m *Machine) prepared(d *demand) {
	b := d.bundles
	m.endWait(d)
	m.prepare(b)
	b.demand = nil
	m.emit(BundlesPrepared{Group: b.Group, Epoch: b.Epoch, N: len(b.Index), Ticket: b.Ticket, OK: true})
}

func (m *Machine) endWait(d *demand) {
	d.dropped, d.want, d.queue = true, 0, nil
	m.updateWaiting(d)
}

// refuseBundles refuses the requests that have waited for long enough, and reports whether there were any.
func (m *Machine) refuseBundles() (any bool) {
	for _, d := range slices.Clone(m.waiting) {
		if b := d.bundles; b != nil && b.For > 0 && m.now >= d.stays {
			m.endWait(d)
			m.remove(b)
			m.emit(BundlesPrepared{Group: b.Group, Epoch: b.Epoch, N: len(b.Index), Ticket: b.Ticket})
			any = true
		}
	}
	return any
}

func (m *Machine) remove(b *bundles) {
	left := slices.DeleteFunc(m.bundles[b.Group], func(o *bundles) bool { return o == b })
	if len(left) == 0 {
		delete(m.bundles, b.Group)
		return
	}
	m.bundles[b.Group] = left
}

// CommitBundles opens the bundles of a group that are set aside for its work. Epoch is that of the request; bundles of earlier ones are open already.
func (m *Machine) CommitBundles(group ids.Group, epoch uint64) {
	for _, b := range m.bundles[group] {
		if b.demand == nil && !b.open && b.Epoch <= epoch {
			b.open = true
			for _, i := range b.Index {
				m.ledger.Commit(b.id(i))
			}
		}
	}
	m.failWhatFitsNoBundle(group)
	m.reschedule()
}

// forgetBundles drops what was set aside in earlier requests, or is waited for, and is not open.
func (m *Machine) forgetBundles(group ids.Group) {
	for _, b := range slices.Clone(m.bundles[group]) {
		if !b.open {
			m.dropBundles(b)
		}
	}
}

func (m *Machine) dropBundles(b *bundles) {
	if b.demand != nil {
		m.endWait(b.demand)
	} else {
		for _, i := range b.Index {
			m.ledger.Drop(b.id(i))
		}
	}
	m.remove(b)
}

// UnprepareBundles drops what was set aside by an order, or is waited for, and is not open.
func (m *Machine) UnprepareBundles(group ids.Group, ticket uint64) {
	for _, b := range slices.Clone(m.bundles[group]) {
		if b.Ticket == ticket && !b.open {
			m.dropBundles(b)
		}
	}
	m.reschedule()
}

// KeptBundles returns what this node has of all groups.
func (m *Machine) KeptBundles() (list []KeptBundles) {
	for group, all := range m.bundles {
		for _, b := range all {
			list = append(list, KeptBundles{Group: group, Epoch: b.Epoch, Ticket: b.Ticket, Index: b.Index[0], Open: b.open})
		}
	}
	slices.SortFunc(list, func(a, b KeptBundles) int {
		return cmp.Or(bytes.Compare(a.Group[:], b.Group[:]), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Ticket, b.Ticket))
	})
	return list
}

// dropGrace is how long a lease of a bundle that was dropped may still be used: a holder that has nothing to do returns it within this time, and its worker
// serves others.
const dropGrace = 50 * time.Millisecond

// DropBundles drops all bundles of a group, prepared and open ones. What runs there is ended, and what it holds is free when it is gone.
func (m *Machine) DropBundles(group ids.Group) {
	for _, b := range slices.Clone(m.bundles[group]) {
		m.dropBundles(b)
	}
	for _, p := range m.pools {
		for _, r := range slices.Clone(p.queue) {
			if r.hold.Dropped() || r.extra.Dropped() {
				m.unreserve(r)
				if d := r.demand; d.isActor() {
					d.queue = append(d.queue, r.actor)
				}
				m.updateWaiting(r.demand)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.workers)) {
		w := m.workers[id]
		if !w.hold.Dropped() || w.state == workerEnding || w.dropAt > 0 {
			continue
		}
		if l := w.lease; l != nil {
			w.dropAt = m.now + dropGrace
			m.dropped = append(m.dropped, w)
			if !l.ending() {
				l.recalled = true
				m.uncount(l)
			}
			m.emit(Recall{l.demand.client.id, l.id})
			continue
		}
		w.end(m.now)
		m.emit(StopWorker{w.id})
	}
	m.reschedule()
}

// stopDropped ends the workers whose leases in dropped bundles were not returned in time.
func (m *Machine) stopDropped() {
	m.dropped = slices.DeleteFunc(m.dropped, func(w *worker) bool {
		switch {
		case !w.hold.Dropped() || w.state == workerEnding || m.workers[w.id] != w:
			w.dropAt = 0
			return true
		case m.now < w.dropAt:
			return false
		}
		w.dropAt = 0
		if l := w.lease; l != nil {
			m.markExiting(l, false)
		} else {
			w.end(m.now)
		}
		m.emit(StopWorker{w.id})
		return true
	})
}
