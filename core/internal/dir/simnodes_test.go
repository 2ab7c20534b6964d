package dir

import (
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sim"
)

func (n *node) say(m message) {
	m.from = n.number
	n.w.net.Send(way{n.number, 1}, m)
}

func (n *node) enter(id ids.Object, e *have) {
	if n.things[id] == nil {
		n.inOrder = append(n.inOrder, id)
	}
	n.things[id] = e
}

func (n *node) forget(id ids.Object) {
	delete(n.things, id)
	n.inOrder = slices.DeleteFunc(n.inOrder, func(x ids.Object) bool { return x == id })
}

// act does one thing that a node does by itself.
func (n *node) act() {
	w := n.w
	if n.dead || len(w.objects) == 0 {
		return
	}
	if !w.calm && (len(n.inOrder) == 0 || w.die.OneIn(3)) {
		n.want(sim.Pick(w.die, w.objects))
		return
	}
	if len(n.inOrder) == 0 {
		return
	}
	id := sim.Pick(w.die, n.inOrder)
	e := n.things[id]
	switch {
	case e.making && (w.calm || !w.die.OneIn(4)):
		e.making, e.whole = false, true
		n.say(message{what: "has", id: id, version: e.version})
	case e.making || e.whole && !e.replica && !e.asks && w.die.OneIn(10) && !w.calm: // the writer dies, or its file is gone
		n.forget(id)
		n.say(message{what: "gone", id: id, version: e.version})
	case e.whole && e.replica && !e.asks && w.die.OneIn(4) && !w.calm:
		e.asks = true
		n.say(message{what: "drop", id: id, version: e.version})
	case e.holder != 0:
		n.pull(id, e)
	}
}

// want asks where an object is.
func (n *node) want(x *thing) {
	if n.things[x.id] != nil || x.freed && n.number == 1 {
		return
	}
	n.enter(x.id, &have{})
	n.ask(x.id, n.things[x.id])
}

func (n *node) ask(id ids.Object, e *have) {
	n.w.lastAsk++
	e.asks, e.holder, e.more = true, 0, nil
	n.say(message{what: "where", id: id, ask: n.w.lastAsk})
}

// pull reads a chunk.
func (n *node) pull(id ids.Object, e *have) {
	w := n.w
	if w.die.OneIn(12) && !w.calm { // nobody waits for it any more, or there is no room
		n.forget(id)
		n.say(message{what: "stop", id: id})
		return
	}
	h := w.nodes[e.holder-1]
	there := h.things[id]
	switch {
	case (h.dead || w.die.OneIn(8) && !w.calm) && len(e.more) > 0:
		e.holder, e.more = e.more[0], e.more[1:]
	case h.dead || w.die.OneIn(8) && !w.calm:
		n.fail(id, e, false)
	case there == nil || there.version != e.version || !there.whole && there.holder == 0:
		n.fail(id, e, there == nil || there.version != e.version)
	case there.whole || there.got > e.got:
		if e.got++; e.got == chunks {
			e.whole, e.replica, e.holder, e.more = true, true, 0, nil
			n.say(message{what: "has", id: id, version: e.version})
		}
	}
}

func (n *node) fail(id ids.Object, e *have, absent bool) {
	n.say(message{what: "failed", id: id, version: e.version, holder: e.holder, absent: absent})
	n.ask(id, e)
}

// hear is what a node does with what it is told.
func (n *node) hear(a Action) error {
	e := n.things[idOf(a)]
	switch a := a.(type) {
	case At:
		if n.w.asked[a.Ask] != n.number {
			return fmt.Errorf("%s: that was not asked", a)
		}
		delete(n.w.asked, a.Ask)
		if e == nil || e.whole || e.making {
			return fmt.Errorf("%s: the node does not want it", a)
		}
		if a.Version != e.version {
			e.version, e.got = a.Version, 0
		}
		e.asks, e.holder, e.more = false, a.Holders[0], a.Holders[1:]
	case Lost:
		if n.w.asked[a.Ask] != n.number {
			return fmt.Errorf("%s: that was not asked", a)
		}
		delete(n.w.asked, a.Ask)
		n.forget(a.ID)
	case Free:
		switch {
		case e == nil || a.Version != 0 && a.Version != e.version:
		case !e.whole && e.asks: // the answer follows
		case !e.whole && !e.making && a.Version != 0: // the newer version is wanted
			n.ask(a.ID, e)
		default:
			n.forget(a.ID)
		}
	case Promote:
		if e != nil && e.version == a.Version {
			e.replica = false
		}
	case dropped:
		if e == nil || !e.asks || !e.whole {
			break
		}
		e.asks = false
		if a.may {
			n.forget(a.id)
		} else {
			e.replica = false
		}
	}
	return nil
}

func idOf(a Action) ids.Object {
	switch a := a.(type) {
	case At:
		return a.ID
	case Lost:
		return a.ID
	case Free:
		return a.ID
	case Promote:
		return a.ID
	case dropped:
		return a.id
	}
	panic("an action without an object")
}

// Finish implements sim.World.
func (w *world) Finish() error {
	w.calm = true
	w.net.UnblockAll()
	for range 20_000 {
		for _, n := range w.nodes {
			n.act()
		}
		if err := w.deliver(); err != nil {
			return err
		}
		if err := w.check(); err != nil {
			return err
		}
		if w.quiet() {
			return w.compare()
		}
	}
	return fmt.Errorf("the world does not come to rest")
}

// quiet reports whether nothing is under way.
func (w *world) quiet() bool {
	for k := range w.nodes {
		n := w.nodes[k]
		if w.net.Waiting(way{n.number, 1})+w.net.Waiting(way{1, n.number}) > 0 {
			return false
		}
		for _, e := range n.things {
			if !n.dead && !e.whole && !e.asks {
				return false
			}
		}
	}
	return w.net.Waiting(way{0, 1}) == 0
}

// compare checks that the directory knows what there is, and nothing else.
func (w *world) compare() error {
	if len(w.asked) > 0 {
		return fmt.Errorf("%d questions were not answered", len(w.asked))
	}
	for _, n := range w.nodes {
		for _, id := range n.inOrder {
			e, known := n.things[id], w.dir.entries[id]
			switch {
			case n.dead:
			case !e.whole:
				return fmt.Errorf("node %d waits for object %d", n.number, id.Count())
			case known == nil || known.version != e.version || known.member(n.number) == nil || !known.member(n.number).whole:
				return fmt.Errorf("node %d has object %d version %d, and the directory does not know it", n.number, id.Count(), e.version)
			case e.replica == (known.primary.node == n.number):
				return fmt.Errorf("node %d has object %d and knows wrongly whether it is the primary", n.number, id.Count())
			}
		}
	}
	for _, x := range w.objects {
		e := w.dir.entries[x.id]
		if e == nil {
			continue
		}
		if x.freed {
			return fmt.Errorf("object %d was freed and has an entry", x.id.Count())
		}
		for _, m := range e.members {
			if there := w.nodes[m.node-1]; there.dead || there.things[x.id] == nil || !there.things[x.id].whole {
				return fmt.Errorf("object %d: node %d does not have it", x.id.Count(), m.node)
			}
		}
	}
	return nil
}
