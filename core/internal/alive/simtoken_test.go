package alive

import (
	"fmt"
	"time"
)

// The world has an exclusive actor, as package headlink restarts it. Each incarnation is a token. Its worker executes a call at every moment
// at which it is not stopped and the page of its node says that the cluster counts on the node; it does not know whether its daemon runs. No token may
// execute a call after a higher one has, and none may do so on two nodes.

type tokens struct {
	newest  int            // the incarnation that the state has
	node    uint32         // on which the state has it; 0: it waits
	fence   uint32         // the node of the incarnation before; 0: there is none
	highest int            // that has executed a call
	ran     map[int]uint32 // on which node a token has executed calls
}

// diesWith has the incarnation end that the state has on a node that it has as dead.
func (w *world) diesWith(node uint32) {
	if a := &w.actor; a.node == node && node != 0 {
		a.newest, a.node, a.fence = a.newest+1, 0, node
		w.note("token %d follows, after node %d", a.newest, node)
	}
}

// places places the incarnation that waits, if nothing of the one before begins calls any more.
func (h *head) places() {
	w := h.w
	a := &w.actor
	if a.node != 0 || h != w.leader() || h.stopped > w.now || a.fence != 0 && !h.m.MayReplace(a.fence) {
		return
	}
	for _, n := range w.nodes {
		if h.alive[n.number] && !w.d.OneIn(2) {
			a.node, a.fence = n.number, 0
			w.note("token %d is placed on node %d", a.newest, n.number)
			w.sends(message{what: "start", node: n.number, number: uint64(a.newest)})
			return
		}
	}
}

// works lets the workers of a node execute calls.
func (n *node) works() error {
	w := n.w
	if n.ended || n.frozen > w.now {
		return nil
	}
	for _, token := range n.hosts {
		if n.until <= n.time() && w.bug != "no look before a call" {
			continue
		}
		a := &w.actor
		if token < a.highest {
			return fmt.Errorf("token %d executes a call after token %d has", token, a.highest)
		}
		if other := a.ran[token]; other != 0 && other != n.number {
			return fmt.Errorf("token %d executes calls on node %d, too", token, other)
		}
		a.highest, a.ran[token] = token, n.number
	}
	return nil
}

// dead changes what follows a death. An old head, whose state takes no commit any more, may start the actor elsewhere.
func (b bug) dead(h *head, node uint32) {
	w := h.w
	switch {
	case b == "lower term taken" && h != w.leader():
		for n := range w.nodes {
			if number := uint32(n + 1); h.alive[number] {
				w.sends(message{what: "start", node: number, number: uint64(w.actor.newest + 1)})
				return
			}
		}
	case b == "takes a silent death for a proof" && h == w.leader():
		h.m.Gone(node, Obituary)
	}
}

// freezes stops the workers of a node, and not its daemon.
func (n *node) freezes() {
	n.frozen = n.w.now + n.w.d.Duration(40*time.Second)
	n.w.note("the workers of node %d are stopped", n.number)
}
