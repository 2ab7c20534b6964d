package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// fromPeer serves another process: borrowers, and those who call us.
func (c *Client) fromPeer(who ids.Owner, m *wire.Message) {
	var err error
	switch m.Type {
	case wire.TRefWait:
		var q wire.RefWait
		if err = m.Decode(&q); err == nil {
			c.mu.Lock()
			err = c.table.Asked(&q, m)
			c.mu.Unlock()
		}
	case wire.TRefBorrow, wire.TRefReturn:
		var q wire.ObjRefs
		if err = m.Decode(&q); err == nil {
			c.mu.Lock()
			if m.Type == wire.TRefBorrow {
				err = c.table.BorrowerHolds(who, q.ObjectIDs)
			} else {
				err = c.table.BorrowerReturns(who, q.ObjectIDs)
			}
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
			var t ids.Task
			copy(t[:], q.TaskID)
			c.mu.Lock()
			c.table.Confirmed(who, t)
			c.mu.Unlock()
			_ = m.Reply(nil)
		}
	case wire.TRegistered:
		c.mu.Lock()
		yes := c.table.Unregistered() == 0
		c.mu.Unlock()
		_ = m.Reply(yes)
	default:
		err = fault.New(fault.BadRequest, "%s is not for a process", m.Type)
	}
	if err != nil {
		_ = m.Fail(err)
	}
}
