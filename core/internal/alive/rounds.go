package alive

import "time"

// round is the commit that acknowledges heartbeats.
type round struct {
	number uint64
	under  bool          // way
	next   time.Duration // when the next one may be proposed
}

// propose asks for a round if a heartbeat waits for one. Only Advance calls it, because it knows what time it is.
func (h *Heads) propose() {
	r := &h.round
	if r.under || h.now < r.next || !h.due() {
		return
	}
	r.number++
	r.under, r.next = true, h.now+h.t.Every
	for _, m := range h.members {
		m.covered = m.heard
	}
	h.do(Action{Kind: Propose, Number: r.number})
}

func (h *Heads) due() bool {
	for _, m := range h.members {
		if !m.dead && m.heard > m.acked {
			return true
		}
	}
	return false
}

// Committed says what became of a round. When ok is false, it may have been committed or not, and nothing is acknowledged by it.
func (h *Heads) Committed(number uint64, ok bool) {
	r := &h.round
	if !r.under || number != r.number {
		return
	}
	r.under = false
	for _, m := range h.members {
		if ok && !m.dead && m.covered > m.acked {
			m.acked = m.covered
			h.do(Action{Kind: Acknowledge, Node: m.number, Number: m.acked})
		}
	}
}
