package client

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// Free lets go of the values of objects, whoever holds references to them: who
// gets one from now on is told that it was freed, and it is not computed again.
// One that is not ready stays as it is. Owners elsewhere have heard on return.
func (c *Client) Free(list []ids.Object) error {
	c.mu.Lock()
	if c.closed {
		defer c.mu.Unlock()
		return c.why
	}
	heard := make(chan error, len(list))
	asked := 0
	for _, id := range list {
		o, err := c.find(id)
		if err != nil {
			c.mu.Unlock()
			return err
		}
		if o.Owned() {
			c.table.FreeValue(o)
			continue
		}
		asked++
		c.withPeer(o.OwnerAddr(), func(p *wire.Peer, err error) {
			if err != nil {
				heard <- nil // its end frees it
				return
			}
			p.Go(wire.TRefFree, wire.RefFree{ObjectIDs: [][]byte{id[:]}}, func(_ *wire.Message, err error) { heard <- err })
		})
		if o.State().Ready() && !o.IsToken() { // what the owner says next holds
			c.table.ForgetValue(o)
			c.table.Ask(o, false)
		}
	}
	c.carryOut()
	c.mu.Unlock()
	for range asked {
		if err := <-heard; fault.CodeOf(err) == fault.BadRequest {
			return err
		}
	}
	return nil
}

// freeing serves RefFree.
func (c *Client) freeing(q *wire.RefFree) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range q.ObjectIDs {
		if id, err := ids.ParseObject(b); err == nil {
			switch o := c.table.Find(id); {
			case o == nil || !o.Owned():
			case q.Lose:
				c.takeDrops() // the program may have let go of the value just now
				c.table.FreeCopy(id)
			default:
				c.table.FreeValue(o)
			}
		}
	}
	c.carryOut()
}

// losePatience is how long Lose waits for others to let go.
const losePatience = time.Second

// Lose makes the store forget its copy of an object, as if it had been lost: for
// tests of what follows. It reports whether the copy is gone: nobody gets it any
// more, and its memory waits only for those who look at it now.
func (c *Client) Lose(id ids.Object) (bool, error) {
	list := wire.ObjRefs{ObjectIDs: [][]byte{id[:]}}
	// Whoever wrote it may not have said yet that it did, and who has read it that it is done.
	for deadline := time.Now().Add(losePatience); ; time.Sleep(time.Millisecond) {
		if err := c.loseCopy(id); err != nil {
			return false, err
		}
		var lacks wire.ObjRefs
		if err := c.daemon.Call(context.Background(), wire.TObjCheck, list, &lacks); err != nil {
			return false, err
		}
		if len(lacks.ObjectIDs) == 1 || time.Now().After(deadline) {
			return len(lacks.ObjectIDs) == 1, nil
		}
	}
}

// loseCopy lets go of the copy here, and has the owner free it.
func (c *Client) loseCopy(id ids.Object) error {
	c.mu.Lock()
	c.takeDrops()
	o, err := c.find(id)
	if err != nil {
		c.mu.Unlock()
		return err
	}
	if o.Owned() {
		c.table.FreeCopy(id)
		c.mu.Unlock()
		return nil
	}
	c.local.ValueFreed(id)
	done := make(chan struct{})
	c.withPeer(o.OwnerAddr(), func(p *wire.Peer, err error) {
		if err != nil {
			close(done)
			return
		}
		p.Go(wire.TRefFree, wire.RefFree{ObjectIDs: [][]byte{id[:]}, Lose: true}, func(*wire.Message, error) { close(done) })
	})
	c.mu.Unlock()
	<-done
	return nil
}
