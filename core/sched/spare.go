package sched

import "time"

// Workers that die amid work tend not to be the last ones, and a fresh process
// takes a while to come up, most of all on a busy machine. A pool that has just
// lost some therefore keeps a spare one or two for a while: what replaces the
// next is there already.
const (
	// SpareFor is for how long after the latest loss.
	SpareFor = 10 * time.Second
	// maxSpares is how many, as far as MaxIdle lets a job keep them.
	maxSpares = 2
)

// spare orders workers ahead of wants until n are idle or starting.
func (m *Machine) spare(p *pool, n int) {
	if !p.job.ended && len(p.idle)+p.starting < n {
		p.ordered = n - len(p.idle)
	}
}

// lost notes that a worker of the pool has died while it had work.
func (m *Machine) lost(p *pool) {
	p.spares = min(p.spares+1, maxSpares)
	p.lostAt = m.now
}

// stock orders spare workers for the pools that lose some, once nothing waits
// for a worker: what is late already is not to share its processor with them.
func (m *Machine) stock() {
	for _, p := range m.pools {
		if p.spares == 0 || len(p.queue) > 0 {
			continue
		}
		if m.now-p.lostAt >= SpareFor {
			p.spares = 0
			continue
		}
		m.spare(p, min(p.spares, m.o.MaxIdle-(p.job.idle-len(p.idle))))
	}
}
