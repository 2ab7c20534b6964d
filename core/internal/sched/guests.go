package sched

import (
	"slices"

	"github.com/eagleray/eagleray/core/ids"
)

// A guest is a process of another node. In a cluster the head sends it here with a ticket, because there seemed to be
// room. The guest gets what fits at once. The rest is refused at once, so that the head can look for another node: no
// want of a guest waits for resources here.

// AddGuest is AddClient for a process of another node.
func (m *Machine) AddGuest(id ClientID, job ids.Job) {
	m.AddClient(id, job)
	m.clients[id].guest = true
}

// wantOfGuest is Want for a guest. A want that has grown needs a ticket, which it uses up.
func (m *Machine) wantOfGuest(d *demand, n int, ticket uint64) {
	before := d.want
	if n > before && ticket == 0 {
		m.refuse(d, n-before)
		n = before
	}
	granted, refused := d.granted, d.refused
	d.ticket = ticket
	m.Want(d.client.id, d.class.ID, n)
	d.ticket = 0
	if ticket != 0 {
		grants := (d.granted - granted) - (d.refused - refused)
		m.emit(Settled{ticket, max(0, d.want-before+int(grants))})
	}
}

// refuseGuests refuses what guests want and does not fit now.
func (m *Machine) refuseGuests() {
	if !m.o.Cluster {
		return
	}
	for _, d := range slices.Clone(m.waiting) {
		if d.client.guest {
			n := d.outstanding()
			d.want -= n
			d.due = min(d.due, d.want)
			m.updateWaiting(d)
			m.refuse(d, n)
		}
	}
}

// refuse tells a guest that it gets so many leases less than it wants. Like grants, refusals are counted, and a
// later want says how many of them its sender knew.
func (m *Machine) refuse(d *demand, n int) {
	d.granted += uint64(n)
	d.refused += uint64(n)
	m.emit(Refused{d.client.id, d.class.ID, n, d.ticket})
}
