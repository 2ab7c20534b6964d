package place

import (
	"cmp"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// A want for which no node has room is sent to nodes all the same after a while, as an offer of leases that are to be recalled.
// There the rules of that node hold, as for its own processes: others give leases back if they have more than the want's job has
// on that node. A node that recalls nothing refuses, and the want comes back. So jobs, processes and classes share each node that
// all of them can use, on whatever node their programs are, and also where a program's own node can give nothing.

const (
	// RecallAfter is how long a want has got no lease when nodes are first asked to recall leases for it.
	RecallAfter = 20 * time.Millisecond
	// recallPause is after how long they are asked again for the same process; it doubles each time, up to recallPauseMost, until
	// the process is offered a lease.
	recallPause     = 200 * time.Millisecond
	recallPauseMost = 3200 * time.Millisecond
	// recallNodes is how many nodes are asked at a time.
	recallNodes = 8
	// recallLeases is how many leases one node is asked for at a time.
	recallLeases = 64
)

// waitsAnew notes that a want begins to wait, or has got a lease.
func (m *Machine) waitsAnew(w *want) {
	w.waits = m.now
	m.looksAt(w)
}

// looksAt has recall look at a want when the want's time comes.
func (m *Machine) looksAt(w *want) {
	if at := w.recallAt(); m.recallAt == 0 || at < m.recallAt {
		m.recallAt = at
	}
}

// recallAt is when nodes are asked to recall leases for a want.
func (w *want) recallAt() time.Duration { return max(w.waits+RecallAfter, w.client.recallAt) }

// recall asks nodes to recall leases for the wants that have waited for long enough.
func (m *Machine) recall() {
	if m.recallAt == 0 || m.now < m.recallAt {
		return
	}
	m.recallAt = 0
	var asked []*turn
	for _, d := range m.list {
		for _, w := range slices.Clone(d.wait) {
			switch {
			case w.needs[0] != d, w.strategy.Busy == strategy.Fails, w.strategy.Busy == strategy.Spills && !m.isLate(w): // leases without work come back by themselves
			case w.recallAt() > m.now:
				m.looksAt(w)
			default:
				m.recallFor(w)
				asked = append(asked, w.client)
				if w.level > 0 {
					m.recallAt = m.now + recallPause // when it is looked at anew
				}
			}
		}
	}
	for _, c := range asked {
		if c.recallAt <= m.now { // it was not noted for another class
			c.recallAt = m.now + min(recallPause<<min(c.recalls, 10), recallPauseMost)
			c.recalls++
		}
	}
	if m.recallAt > 0 { // many wants are looked at together
		m.recallAt = max(m.recallAt, m.now+RecallAfter)
	}
}

// recallFor asks nodes to recall leases for a want, in its first choice.
func (m *Machine) recallFor(w *want) {
	nodes := m.recallable(w)
	for i := range min(len(nodes), recallNodes) {
		n := nodes[(w.client.recalls*recallNodes+i)%len(nodes)] // each time others, if there are many
		count := min(w.level, mostOf(n, w.needs[0]))
		if count == 0 {
			return
		}
		w.offered += uint64(count)
		m.setLevel(w, w.level-count, w.due)
		m.emit(Offer{To: w.key, Node: n.id, N: count, Ticket: m.newTicket(), Recall: true})
	}
}

// recallable returns the nodes that could serve a want if others gave leases back. The want's own node recalls them by itself. For
// work without accelerators nodes that have some come last.
func (m *Machine) recallable(w *want) (nodes []*node) {
	d := w.needs[0]
	if d.set.IsZero() {
		return nil
	}
	only := m.onlyNode(&wish{need: d, strategy: w.strategy, ranks: w.ranks, late: m.isLate(w)})
	for _, n := range m.slots {
		if n != nil && n.takes() && d.talks(n) && n.id != w.key.Node && (only == (ids.Node{}) || n.name == only) && m.allows(w.ranks, n) && n.ledger.Could(d.set) {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *node) int {
		switch {
		case w.ranks != nil && m.rank(w.ranks, a) != m.rank(w.ranks, b):
			return cmp.Compare(m.rank(w.ranks, a), m.rank(w.ranks, b))
		case m.sparesDevices(d, a, b):
			return compareBool(a.devices, b.devices)
		default:
			return cmp.Compare(a.id, b.id)
		}
	})
	return nodes
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// mostOf returns how many leases with a need a node could give if all were free, as far as sums tell, at most recallLeases.
func mostOf(n *node, d *need) int {
	most := resource.Amount(recallLeases)
	for name, amount := range d.set {
		if amount > 0 {
			most = min(most, max(1, n.totals[name]/amount))
		}
	}
	return int(most)
}
