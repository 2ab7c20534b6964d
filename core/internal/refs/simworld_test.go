package refs

import (
	"errors"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/sim"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The processes of the played world on several nodes. Messages take their time, up to slowest. Now and then a node dies with all its
// processes. What it had sent last is lost. The others hear of the death later, each at another time: then no pipe leads there any more. But the
// pipes by which the dead have reached them end 2 s after that, so that whoever got a reference from one of the dead has registered it before
// (package pipes). So nothing that a living program holds goes early, unless its owner has died.

const (
	slowest  = 900 * time.Millisecond // a message takes less
	silence  = 10 * time.Second       // after which a node that says nothing is dead
	obituary = 200 * time.Millisecond // after which a death is known that somebody has seen, at most
	skew     = 200 * time.Millisecond // between two nodes that hear of a death
	peace    = 6 * time.Second        // between the end of one death and the next: two at once are more than is promised
)

// nodesWorld is a world of processes on several nodes.
type nodesWorld struct {
	*society
	die   *sim.Die
	log   *sim.Log
	bug   string
	time  time.Duration
	rooms [][]*member   // the members of each node
	plans []plan        // in order of time
	next  time.Duration // when a node dies, or soon after
	calm  time.Duration // until then little happens, so messages are late
}

// plan is what happens at a time.
type plan struct {
	at time.Duration
	do func()
}

func newNodesWorld(d *sim.Die, log *sim.Log, bug string) *nodesWorld {
	w := &nodesWorld{die: d, log: log, bug: bug, next: d.Duration(3 * time.Second)}
	var sizes []int
	all := 0
	for range d.Between(3, 4) {
		sizes = append(sizes, d.Between(1, 2))
		all += sizes[len(sizes)-1]
	}
	w.society = newSociety(nil, d.Uint64(), all)
	w.society.nodes = w
	rest := w.members
	for _, n := range sizes {
		w.rooms = append(w.rooms, rest[:n])
		rest = rest[n:]
	}
	return w
}

// has reports whether a bug is planted.
func (s *society) has(bug string) bool { return s.nodes != nil && s.nodes.bug == bug }

// strikes reports whether a planted bug shows now.
func (s *society) strikes(bug string) bool { return s.has(bug) && s.nodes.die.OneIn(8) }

// late does something for a member as late as the pipes of the dead end, or with a bug earlier.
func (s *society) late(m *member, bug string, f func()) {
	if s.nodes == nil {
		s.send(m, m, f)
		return
	}
	after := wire.Linger
	if s.has(bug) {
		after = 0
	}
	s.nodes.plan(after, func() {
		if !m.dead {
			f()
		}
	})
}

func (w *nodesWorld) plan(after time.Duration, do func()) {
	p := plan{w.time + after, do}
	i, _ := slices.BinarySearchFunc(w.plans, p, func(a, b plan) int {
		if a.at <= b.at {
			return -1
		}
		return 1
	})
	w.plans = slices.Insert(w.plans, i, p)
}

// Step implements sim.World.
func (w *nodesWorld) Step() error {
	w.pass(w.die.Duration(30 * time.Millisecond))
	if w.time >= w.next && len(w.rooms) > 2 {
		i := w.die.N(len(w.rooms))
		if w.die.OneIn(2) {
			w.scene(w.rooms[i])
		}
		if w.passesOn(w.rooms[i]) || w.die.OneIn(50) {
			w.kill(i)
		}
	}
	switch {
	case w.time > w.calm && w.die.OneIn(30):
		w.scene(sim.Pick(w.die, w.rooms))
	case w.time < w.calm && !w.die.OneIn(6):
	case w.die.OneIn(5):
		w.relay()
	default:
		w.step()
	}
	w.check()
	return nil
}

// relay has a process pass on what it got with a call, and end the call.
func (w *nodesWorld) relay() {
	m := sim.Pick(w.die, w.members)
	other := sim.Pick(w.die, w.members)
	if len(m.running) == 0 || other == m || other.dead {
		return
	}
	i := w.die.N(len(m.running))
	x := m.running[i]
	if !slices.ContainsFunc(x.args, func(id ids.Object) bool { return m.holds[id] == 0 || w.leadsTo(id, x.out) }) {
		m.call(other, x.args...)
		if w.die.OneIn(2) {
			for _, id := range x.args {
				if m.holds[id] > 0 { // it may be an argument twice
					m.drop(id)
				}
			}
			m.answer(i)
		}
	}
}

// passesOn reports whether a call or an answer of the members of a node is on its way to another node.
func (w *nodesWorld) passesOn(room []*member) bool {
	return slices.ContainsFunc(w.underWay(), func(k stream) bool {
		return k.on != nil && slices.Contains(room, k.from) && !slices.Contains(room, k.to)
	})
}

// pass lets time pass, in which what is due happens.
func (w *nodesWorld) pass(d time.Duration) {
	end := w.time + d
	for {
		at, do := end, func() {}
		for _, k := range w.underWay() {
			if due := w.links[k][0].sent + slowest; due < at {
				at, do = due, func() { w.arrive(k) }
			}
		}
		planned := len(w.plans) > 0 && w.plans[0].at < at
		if planned {
			at, do = w.plans[0].at, w.plans[0].do
			w.plans = w.plans[1:]
		}
		w.time = max(w.time, at)
		if do(); at == end {
			return
		}
		w.check()
	}
}

// kill ends a node with its processes.
func (w *nodesWorld) kill(i int) {
	dead := w.rooms[i]
	w.rooms = slices.Delete(slices.Clone(w.rooms), i, i+1)
	known := w.die.Duration(obituary)
	if w.die.OneIn(3) {
		known = silence
	}
	w.next = w.time + known + skew + wire.Linger + peace
	for _, m := range dead {
		w.note("%s dies with its node, which is known in %v", m.name, known)
		m.dead = true
		clear(m.holds)
		m.running = nil
	}
	if w.die.OneIn(2) {
		w.calm = w.time + known + skew + time.Second
	}
	callsArrive := w.die.OneIn(2) // and what has gone to owners does not
	for _, k := range w.underWay() {
		switch {
		case k.to.dead, k.from.dead && callsArrive && k.on == nil:
			delete(w.links, k)
		case k.from.dead && !callsArrive:
			w.links[k] = w.links[k][:w.die.N(len(w.links[k])+1)]
		}
	}
	if w.die.OneIn(2) { // so that what is on its way is all that there is
		for _, m := range w.members {
			m.dropAll()
		}
	}
	for _, room := range w.rooms {
		after := known + w.die.Duration(skew)
		for _, m := range room {
			for _, d := range dead {
				w.plan(after, func() { m.hearsOfEnd(d) })
			}
		}
	}
}

// hearsOfEnd is what a process hears when the node of another one is dead: all pipes that lead there end.
func (m *member) hearsOfEnd(d *member) {
	w := m.s.nodes
	if m.dead {
		return
	}
	w.note("%s hears that %s is dead", m.name, d.name)
	m.lost[d] = true
	delete(w.links, stream{d, m, nil})
	m.table.OwnerGone(d.name)
	for _, x := range slices.Clone(m.table.Retained()) {
		if x.Worker() == d.name {
			w.late(m, "retained arguments go at once", func() { m.table.WorkerRegistered(x, true) })
		}
	}
	for _, k := range slices.Clone(w.sockets) {
		if k.caller == m && k.worker == d || k.caller == d && k.worker == m {
			m.losesSocket(k)
		}
	}
	if n := m.unacked[d]; n > 0 && !w.has("a dead owner is waited for") {
		delete(m.unacked, d)
		m.registered(n)
	}
	m.carryOut()
	if !w.has("a dead borrower is kept") {
		w.late(m, "early close", func() { m.table.BorrowerGone(d.owner) })
	}
}

// losesSocket ends a task socket to or from a dead process. Calls without an answer go to another one.
func (m *member) losesSocket(k *playedSocket) {
	w := m.s
	delete(w.links, stream{k.caller, k.worker, k})
	delete(w.links, stream{k.worker, k.caller, k})
	k.broken = true
	if k.worker == m {
		if k.serves {
			k.workerLost()
		}
		k.open, k.waits = false, nil // nobody waits for its answers
		return
	}
	k.open, k.serves = false, false
	calls := k.waits
	k.waits = nil
	for _, x := range calls {
		others := slices.DeleteFunc(slices.Clone(w.members), func(o *member) bool { return o == m || m.lost[o] })
		if len(others) == 0 {
			for _, id := range m.calls[x.task] {
				m.table.Unpin(m.object(id))
			}
			delete(m.calls, x.task)
			delete(m.serves, x.task)
			continue
		}
		again := sim.Pick(w.nodes.die, others)
		m.serves[x.task] = again
		m.sendCall(&execution{caller: m, task: x.task, out: x.out, args: x.args}, again)
	}
}

// Finish implements sim.World: everything is let go of, and nothing stays.
func (w *nodesWorld) Finish() error {
	for range 100_000 {
		w.pass(10 * time.Millisecond)
		runs := false
		for _, m := range w.members {
			runs = runs || len(m.running) > 0
			m.answerAny()
			m.dropAll()
		}
		w.check()
		if !w.deliver() && !runs && len(w.plans) == 0 {
			w.nothingLeft()
			return nil
		}
	}
	return errors.New("the world does not come to rest")
}
