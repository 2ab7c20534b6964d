package alive

import (
	"fmt"
	"time"
)

// slack is how much later than its time a thing may come: a moment of the world is up to 200 ms long.
const slack = time.Second

func (h *head) heard(x message) error {
	h.w.bug.beforeEvent(h)
	h.w.bug.beforeHeard(h, x)
	h.m.Heard(x.node, x.number)
	if h.alive[x.node] && x.number > h.newest[x.node] {
		h.newest[x.node], h.fresh[x.node] = x.number, true
	}
	return h.actions()
}

// moment lets the head see the time, and checks its judgement against the model's.
func (h *head) moment() error {
	if h.stopped > h.w.now {
		return nil
	}
	gap := h.clock.At(h.w.now) - h.clock.At(h.advanced)
	paused := gap > longestGap
	h.listened += min(gap, longestGap)
	h.advanced = h.w.now
	h.w.bug.beforeEvent(h)
	h.w.bug.beforeAdvance(h)
	h.m.Advance(h.time())
	if paused { // what came meanwhile has two more seconds to be read
		for n := range h.came {
			h.came[n] = max(h.came[n], h.listened-h.w.t.Dead+afterPause)
		}
		for n := range h.alive {
			h.came[n] = max(h.came[n], h.listened-h.w.t.Dead+afterPause)
		}
	}
	for n := range h.fresh {
		h.came[n] = h.listened
	}
	clear(h.fresh)
	h.limit = h.mayBeSilent()
	if err := h.actions(); err != nil {
		return err
	}
	for _, n := range h.w.nodes {
		if silence := h.listened - h.came[n.number]; h.alive[n.number] && silence > h.limit+slack {
			return fmt.Errorf("node %d is silent for %v and lives", n.number, silence)
		}
		if h.alive[n.number] && h.sure[n.number] {
			return fmt.Errorf("there is proof that node %d is dead, and it lives", n.number)
		}
	}
	return nil
}

// actions carries out what the head wants, and checks that it may.
func (h *head) actions() error {
	w := h.w
	leads := h == w.leader()
	for _, a := range h.m.Actions() {
		w.note("head %d: %s", h.id, a)
		switch a.Kind {
		case Propose:
			if h.time()-h.rounds < w.t.Every {
				return fmt.Errorf("two rounds within %v", h.time()-h.rounds)
			}
			h.rounds = h.time()
			came := map[uint32]uint64{}
			for n, number := range h.newest {
				came[n] = number
			}
			h.proposed[a.Number] = came
			h.commits[a.Number] = leads && (w.calm || !w.d.OneIn(20))
			w.sends(message{what: "committed", head: h, node: 1, number: a.Number, ok: h.commits[a.Number] || w.bug == "acknowledges without a commit"})
		case Acknowledge:
			if !h.covered(a.Node, a.Number) {
				return fmt.Errorf("%s: no round was committed that was proposed after it came", a)
			}
			w.sends(message{what: "acknowledged", node: a.Node, number: a.Number})
		case Dead:
			if err := h.mayDie(a); err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
			delete(h.alive, a.Node)
			delete(h.fresh, a.Node)
			if leads { // the state commits nothing of another head
				w.nodes[a.Node-1].declared = true
				w.diesWith(a.Node)
				w.shaken = !w.calm && w.d.OneIn(3)
			}
			w.bug.dead(h, a.Node)
		case MayRestart:
			if leads {
				w.nodes[a.Node-1].replaced = true
			}
		case TellDead:
			if h.alive[a.Node] {
				return fmt.Errorf("%s, and it lives", a)
			}
			if leads {
				w.sends(message{what: "dead", node: a.Node})
			}
		}
	}
	return nil
}

// mayBeSilent returns how long a node may be silent before it is dead: longer while at least three, and more than a quarter, are.
func (h *head) mayBeSilent() time.Duration {
	silent := 0
	for n := range h.alive {
		if h.listened-h.came[n] >= h.w.t.Unreachable {
			silent++
		}
	}
	if silent >= 3 && float64(silent) > float64(len(h.alive))/4 {
		return 3 * h.w.t.Dead
	}
	return h.w.t.Dead
}

// covered reports whether a round was committed that was proposed after the heartbeat came.
func (h *head) covered(n uint32, number uint64) bool {
	for round, came := range h.proposed {
		if h.commits[round] && came[n] >= number {
			return true
		}
	}
	return false
}

func (h *head) mayDie(a Action) error {
	switch {
	case !h.alive[a.Node]:
		return fmt.Errorf("it was dead before")
	case a.Why != Silent && !h.sure[a.Node]:
		return fmt.Errorf("there is no proof")
	case a.Why == Silent && h.listened-h.came[a.Node] < h.limit:
		return fmt.Errorf("it is silent for %v", h.listened-h.came[a.Node])
	}
	return nil
}

// moment lets the node see the time. The promise counts also while the process is stopped: workers look at it themselves.
func (n *node) moment() error {
	if !n.ended && n.stopped <= n.w.now {
		n.m.Advance(n.time())
		if err := n.actions(); err != nil {
			return err
		}
	}
	if left := n.until - n.time(); !n.ended && n.replaced && left > 0 {
		return fmt.Errorf("its actors may run elsewhere, and it is counted on for %v", left)
	}
	return nil
}

func (n *node) actions() error {
	for _, a := range n.m.Actions() {
		switch a.Kind {
		case Send:
			n.w.sends(message{what: "heartbeat", node: n.number, number: a.Number})
			continue
		case ValidUntil:
			if a.Until < n.until {
				return fmt.Errorf("%s, and was promised %v", a, n.until)
			}
			n.until = a.Until
			continue
		case Expired:
			if n.until > n.time() {
				return fmt.Errorf("expired %v too early", n.until-n.time())
			}
		case EndAll:
			if !n.declared {
				return fmt.Errorf("ends, and nobody has declared it dead")
			}
			n.ended = true
		}
		n.w.note("node %d: %s", n.number, a)
	}
	return nil
}

// Finish ends the faults. What lives is counted on, and the dead know it.
func (w *world) Finish() error {
	w.calm, w.messages = true, nil
	for _, n := range w.nodes {
		n.to, n.from, n.stopped = 0, 0, 0
		if !n.up {
			n.registers()
		}
	}
	w.leader().stopped = 0
	for _, h := range w.heads {
		h.m.round.under = false // its answer was among the messages that are lost
	}
	for end := w.now + 5*w.t.Dead; w.now < end; {
		if err := w.moment(); err != nil {
			return err
		}
	}
	h := w.leader()
	for _, n := range w.nodes {
		switch {
		case n.ended && !n.declared:
			return fmt.Errorf("node %d has ended, and nobody has declared it dead", n.number)
		case !n.ended && n.declared:
			return fmt.Errorf("node %d was declared dead, sends heartbeats, and was not told", n.number)
		case !n.ended && (!h.alive[n.number] || !n.m.valid || n.m.alone):
			return fmt.Errorf("node %d lives, and is not counted on", n.number)
		}
	}
	return nil
}
