package borrows

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Hear takes a message about references from another process, and answers it. The error
// is the message's, which the caller tells. The mutex is not held.
func (m *Messenger) Hear(who ids.Owner, q *wire.Message) error {
	switch q.Type {
	case wire.TRefWait:
		var x wire.RefWait
		if err := q.Decode(&x); err != nil {
			return err
		}
		return m.locked(func(t *refs.Table) error { return t.Asked(&x, q) })
	case wire.TRefBorrow, wire.TRefReturn:
		var x wire.ObjRefs
		if err := q.Decode(&x); err != nil {
			return err
		}
		err := m.locked(func(t *refs.Table) error {
			if q.Type == wire.TRefBorrow {
				return t.BorrowerHolds(who, x.ObjectIDs)
			}
			return t.BorrowerReturns(who, x.ObjectIDs)
		})
		if err != nil {
			return err
		}
		return q.Reply(nil)
	case wire.TRefFree:
		var x wire.RefFree
		if err := q.Decode(&x); err != nil {
			return err
		}
		_ = m.locked(func(t *refs.Table) error { m.free(t, &x); return nil })
		return q.Reply(nil)
	case wire.TReceived:
		var x wire.Received
		if err := q.Decode(&x); err != nil {
			return err
		}
		_ = m.locked(func(t *refs.Table) error { t.Confirmed(who, x.Answer); return nil })
		_ = q.Reply(nil)
		return nil
	case wire.TRegistered:
		yes := false
		_ = m.locked(func(t *refs.Table) error { yes = t.Unregistered() == 0; return nil })
		_ = q.Reply(yes)
		return nil
	case wire.TAnswersRead:
		var x wire.AnswersRead
		if err := q.Decode(&x); err != nil {
			return err
		}
		yes := false
		_ = m.locked(func(t *refs.Table) error {
			yes = t.Unregistered() == 0 && !m.session.ReadsAnswers(x.Actor, x.Number)
			return nil
		})
		_ = q.Reply(yes)
		return nil
	}
	return fault.New(fault.BadRequest, "a process does not serve %s", q.Type)
}

// locked calls a function with the mutex, also when the session has ended: others may still hold what it owns.
func (m *Messenger) locked(f func(t *refs.Table) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return f(m.table)
}

// free frees the values of objects of ours, or the store's copies of them.
func (m *Messenger) free(t *refs.Table, q *wire.RefFree) {
	for _, b := range q.ObjectIDs {
		if id, err := ids.ParseObject(b); err == nil {
			switch o := t.Find(id); {
			case o == nil || !o.Owned():
			case q.Lose:
				m.session.TakeDrops() // the program may have let go of the value just now
				t.FreeCopy(id)
			default:
				t.FreeValue(o)
			}
		}
	}
	t.CarryOut()
}

// Left says that a process has ended, or has closed its connection: it holds nothing of ours any more.
func (m *Messenger) Left(who ids.Owner) {
	if !m.ended {
		m.table.BorrowerGone(who)
	}
}

// CallerLeft says that the task socket of a caller broke: it may not have read all answers.
func (m *Messenger) CallerLeft(s refs.TaskSocket) {
	if !m.ended {
		m.table.CallerLost(s)
	}
}
