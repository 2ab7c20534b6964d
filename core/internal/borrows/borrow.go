package borrows

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// What a borrower says to owners.

// raw returns an id as a link keeps it.
func raw(id ids.Object) []byte { return id[:] }

// Borrow implements refs.OwnerEffects.
func (m *Messenger) Borrow(o *refs.Object) {
	m.links.To(o.OwnerAddr()).Batch(wire.TRefBorrow, raw(o.ID))
}

// register tells an owner which of its references this process has begun to hold; the mutex is not held.
func (m *Messenger) register(list [][]byte, p *wire.Peer, err error) {
	if err == nil && !planted.Strikes(planted.SkippedCount) {
		p.Go(wire.TRefBorrow, wire.ObjRefs{ObjectIDs: list}, func(*wire.Message, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.registered(len(list))
		})
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && !m.ended { // else nobody says that the owner has ended
		m.table.Unreachable(list)
	}
	m.registered(len(list))
}

// registered notes that n references are registered, or that their owner has ended.
func (m *Messenger) registered(n int) {
	if m.table.Registered(n); m.table.Unregistered() == 0 {
		m.session.TakeDrops()
	}
}

// GiveBack implements refs.OwnerEffects.
func (m *Messenger) GiveBack(o *refs.Object) {
	l := m.links.Find(o.OwnerAddr())
	if l == nil || planted.Strikes(planted.LostReturn) {
		return // it is gone
	}
	l.Batch(wire.TRefReturn, raw(o.ID))
}

// Ask implements refs.OwnerEffects.
func (m *Messenger) Ask(o *refs.Object, q refs.Question) {
	id := o.ID
	answered := func(v *wire.RefValue, err error) {
		m.event(func(t *refs.Table) { t.Answered(id, q, v, err) })
	}
	m.links.To(o.OwnerAddr()).Do(func(p *wire.Peer, err error) {
		if err != nil {
			answered(nil, fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended (%v)", id, err))
			return
		}
		p.Go(wire.TRefWait, wire.RefWait{ObjectID: id[:], Lost: q == refs.ForLost, Infeasible: q == refs.ForFeasible}, func(reply *wire.Message, err error) {
			if err != nil {
				if fault.CodeOf(err) == fault.Internal {
					err = refs.OwnerDied(id)
				}
				answered(nil, err)
				return
			}
			v := new(wire.RefValue)
			answered(v, reply.Decode(v))
		})
	})
}

// FreeAtOwner tells the owner of a borrowed object to free its value, or, if lose is set, only
// the store's copy. done is called without the mutex when the owner has heard. It is no error
// if the owner has ended, because its end frees the value.
func (m *Messenger) FreeAtOwner(o *refs.Object, lose bool, done func(error)) {
	id := o.ID
	m.links.To(o.OwnerAddr()).Do(func(p *wire.Peer, err error) {
		if err != nil {
			done(nil)
			return
		}
		p.Go(wire.TRefFree, wire.RefFree{ObjectIDs: [][]byte{id[:]}, Lose: lose}, func(_ *wire.Message, err error) { done(err) })
	})
}
