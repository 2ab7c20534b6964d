package sched

import (
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
)

// A guest is a process of another node. In a cluster the head sends it here with a ticket, because there seemed to be
// room. The guest gets what fits at once. The rest is refused at once, so that the head can look for another node.
//
// The head also sends guests that have waited while there was no room anywhere, with WantUpdate.Recall. For those leases are
// recalled at once, by the rules for all who wait here (recall). What of their want these leases will serve waits, for
// GuestPatience at most. No other want of a guest waits for resources here.

// GuestPatience is how long a want of a guest waits for the leases that were recalled for it.
const GuestPatience = time.Second

// AddGuest is AddClient for a process of another node.
func (m *Machine) AddGuest(id ClientID, job ids.Job) {
	m.AddClient(id, job)
	m.clients[id].guest = true
}

// wantOfGuest is Want for a guest. A want that has grown needs a ticket, which it uses up. If recall is set, leases are recalled for it.
func (m *Machine) wantOfGuest(d *demand, n int, ticket uint64, recall bool) {
	before := d.want
	if n > before && ticket == 0 {
		m.refuse(d, n-before)
		n = before
	}
	granted, refused := d.granted, d.refused
	d.ticket = ticket
	if ticket != 0 {
		d.stays = 0
	}
	if recall {
		d.stays = m.now + GuestPatience
	}
	m.Want(d.client.id, d.class.ID, n)
	if recall {
		m.refuseWaiting(d, d.outstanding()-d.coming)
	}
	d.ticket = 0
	if ticket != 0 {
		grants := (d.granted - granted) - (d.refused - refused)
		m.emit(Settled{ticket, max(0, d.want-before+int(grants))})
	}
}

// refuseGuests refuses what guests want and does not fit now, unless leases were recalled for it not long ago.
func (m *Machine) refuseGuests() {
	if !m.o.Cluster {
		return
	}
	for _, d := range slices.Clone(m.waiting) {
		if d.client.guest && m.now >= d.stays {
			m.refuseWaiting(d, d.outstanding())
		}
	}
}

// refuseWaiting refuses so many wants of a guest that wait.
func (m *Machine) refuseWaiting(d *demand, n int) {
	if n <= 0 {
		return
	}
	d.want -= n
	d.due = min(d.due, d.want)
	m.updateWaiting(d)
	m.refuse(d, n)
}

// guestsLate reports whether a guest will have waited for too long by the time then.
func (m *Machine) guestsLate(then time.Duration) bool {
	return slices.ContainsFunc(m.waiting, func(d *demand) bool { return d.client.guest && then >= d.stays })
}

// refuse tells a guest that it gets so many leases less than it wants. Like grants, refusals are counted, and a
// later want says how many of them its sender knew.
func (m *Machine) refuse(d *demand, n int) {
	d.granted += uint64(n)
	d.refused += uint64(n)
	m.emit(Refused{d.client.id, d.class.ID, n, d.ticket})
}
