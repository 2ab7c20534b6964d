package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// fromPeer serves another process: borrowers, and those who call us.
func (c *Client) fromPeer(who ids.Owner, m *wire.Message) {
	var err error
	switch m.Type {
	case wire.TRefWait:
		var q wire.RefWait
		if err = m.Decode(&q); err == nil {
			err = c.serveWait(&q, m)
		}
	case wire.TRefBorrow, wire.TRefReturn:
		var q wire.ObjRefs
		if err = m.Decode(&q); err == nil {
			c.mu.Lock()
			for _, raw := range q.ObjectIDs {
				id, e := ids.ParseObject(raw)
				if e != nil {
					err = fault.New(fault.BadRequest, "%v", e)
					continue
				}
				o := c.table.Find(id)
				switch {
				case o == nil || !o.Owned():
				case m.Type == wire.TRefBorrow:
					c.table.AddBorrower(o, who)
				default:
					c.table.DropBorrower(o, who)
				}
			}
			c.carryOut()
			c.mu.Unlock()
			if err == nil {
				err = m.Reply(nil)
			}
		}
	case wire.TCancel:
		var q wire.Cancel
		if err = m.Decode(&q); err == nil {
			c.canceling(&q, m)
		}
	case wire.TRefFree:
		var q wire.RefFree
		if err = m.Decode(&q); err == nil {
			c.freeing(&q)
			err = m.Reply(nil)
		}
	case wire.TReceived:
		var q wire.Received
		if err = m.Decode(&q); err == nil {
			c.confirmed(who, q.TaskID)
			_ = m.Reply(nil)
		}
	case wire.TRegistered:
		c.mu.Lock()
		yes := c.unacked == 0
		c.mu.Unlock()
		_ = m.Reply(yes)
	default:
		err = fault.New(fault.BadRequest, "%s is not for a process", m.Type)
	}
	if err != nil {
		_ = m.Fail(err)
	}
}

// serveWait answers a borrower when the object is ready.
func (c *Client) serveWait(q *wire.RefWait, m *wire.Message) error {
	id, err := ids.ParseObject(q.ObjectID)
	if err != nil {
		return fault.New(fault.BadRequest, "%v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table.Find(id)
	if o == nil {
		return letGoBy(id)
	}
	if q.Lost || o.State() == refs.Evicted {
		c.verifyCopy(o)
	}
	switch {
	case q.Infeasible && !o.State().Ready():
		c.table.PatientQuestion(o, m)
	case o.State() == refs.Pending:
		c.table.Question(o, m)
	default:
		_ = m.Reply(refValue(o, c.info.Node))
	}
	return nil
}
