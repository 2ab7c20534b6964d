package refs

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wait"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The effects of a member's table: what a session sends to other processes arrives there some time later.

func (m *member) Wake(w *wait.Wait)             { w.End() }
func (m *member) Ready(Task)                    {}
func (m *member) Infeasible(Task, *fault.Error) {}
func (m *member) Reply(q *wire.Message, o *Object) {
	v := m.table.Answer(o, ids.Node{})
	m.answers(q, &v, nil)
}

func (m *member) Refuse(q *wire.Message, why error) { m.answers(q, nil, why) }

// playedAsk is a question of a borrower that its owner has not answered.
type playedAsk struct {
	by     *member
	answer func(*wire.RefValue, error)
}

// answers gives a borrower the answer to its question, which gets one and no second one.
func (m *member) answers(q *wire.Message, v *wire.RefValue, err error) {
	x := m.asks[q.ID]
	if x == nil {
		m.s.fail("%s answers question %d, which is not open", m.name, q.ID)
	}
	delete(m.asks, q.ID)
	x.answer(v, err)
}

func (m *member) Borrow(o *Object) {
	id, owner := o.ID, m.s.at(o.OwnerAddr())
	if m.lost[owner] { // as after an attempt to connect
		m.s.send(m, m, func() {
			m.table.Unreachable([][]byte{raw(id)})
			m.registered(1)
		})
		return
	}
	if m.s.strikes("a registration is lost") {
		m.s.send(m, m, func() { m.registered(1) })
		return
	}
	m.unacked[owner]++
	if m.s.has("registered before the owner has heard") {
		m.unacked[owner]--
		m.s.send(m, m, func() { m.registered(1) })
	}
	m.s.send(m, owner, func() {
		m.s.note("%s hears that %s holds %s", owner.name, m.name, short(id))
		if err := owner.table.BorrowerHolds(m.owner, [][]byte{raw(id)}); err != nil {
			m.s.fail("%v", err)
		}
		owner.carryOut()
		if m.s.has("registered before the owner has heard") {
			return
		}
		m.s.send(owner, m, func() {
			m.unacked[owner]--
			m.registered(1)
		})
	})
}

func (m *member) registered(n int) {
	m.s.note("%s: %d registered", m.name, n)
	if m.table.Registered(n); m.table.Unregistered() < 0 {
		m.s.fail("%s has %d registrations under way", m.name, m.table.Unregistered())
	}
	m.table.Drop(nil)
}

func (m *member) GiveBack(o *Object) {
	id, owner := o.ID, m.s.at(o.OwnerAddr())
	m.s.note("%s gives %s back", m.name, short(id))
	if m.s.strikes("a return is lost") {
		return
	}
	m.s.send(m, owner, func() {
		if err := owner.table.BorrowerReturns(m.owner, [][]byte{raw(id)}); err != nil {
			m.s.fail("%v", err)
		}
	})
}

func (m *member) Ask(o *Object, q Question) {
	id, owner := o.ID, m.s.at(o.OwnerAddr())
	m.s.send(m, owner, func() {
		owner.lastAsk++
		msg := &wire.Message{ID: owner.lastAsk}
		answer := func(v *wire.RefValue, err error) {
			m.s.send(owner, m, func() { m.table.Answered(id, q, v, err); m.carryOut() })
		}
		owner.asks[msg.ID] = &playedAsk{by: m, answer: answer}
		if err := owner.table.Asked(&wire.RefWait{ObjectID: raw(id)}, msg); err != nil {
			delete(owner.asks, msg.ID)
			answer(nil, err)
		}
	})
}

func (m *member) Receipt(worker string, answer uint64) {
	w := m.s.at(worker)
	m.s.send(m, w, func() {
		m.s.note("%s hears that %s has registered what is inside answer %d", w.name, m.name, answer)
		w.table.Confirmed(m.owner, answer)
	})
}

func (m *member) AskRead(s TaskSocket, pause time.Duration) {
	caller := m.s.at(s.Addr)
	if m.lost[caller] {
		m.s.late(m, "held answers go at once", func() { m.table.CallerRead(s, true, pause) })
		return
	}
	m.s.send(m, caller, func() {
		yes := caller.table.Unregistered() == 0 && !caller.reads(s)
		caller.s.note("%s has read all of task socket %d from %s: %v", caller.name, s.Number, m.name, yes)
		m.s.send(caller, m, func() { m.table.CallerRead(s, yes, pause) })
	})
}

func (m *member) AskRegistered(x *Retained, _ time.Duration) {
	w := m.s.at(x.Worker())
	if m.lost[w] {
		m.s.late(m, "retained arguments go at once", func() { m.table.WorkerRegistered(x, true) })
		return
	}
	m.s.send(m, w, func() {
		yes := w.table.Unregistered() == 0
		m.s.send(w, m, func() { m.table.WorkerRegistered(x, yes) })
	})
}

func (m *member) ArrivalSite(site uint32) uint32 { return site }

func (m *member) Check([]*Object) bool       { return false }
func (m *member) Siblings(*Object) []*Object { return nil }
func (m *member) Recompute(*Object)          {}
func (m *member) Pointer(*Object) []byte     { return nil }
func (m *member) CopyLost(ids.Object)        {}
func (m *member) DropCopy(*Object) bool      { return false }
func (m *member) SourceGone(Source, *Object) {}
func (m *member) RecipeGone(Task)            {}
func (m *member) Unseen(*Object)             {}
func (m *member) Released(f func())          { f() }
func (m *member) DropView(uint64)            {}
func (m *member) DropStream(ids.Object)      {}
func (m *member) Needed()                    {}
func (m *member) Free(list [][]byte) {
	for _, b := range list {
		id, err := ids.ParseObject(b)
		if err != nil || id.Owner() != m.owner {
			m.s.fail("%s frees %v, %v", m.name, id, err)
		}
		if m.freed[id]++; m.freed[id] > 1 {
			m.s.fail("%s frees %s twice", m.name, short(id))
		}
	}
}

func (m *member) carryOut() { m.table.CarryOut() }
