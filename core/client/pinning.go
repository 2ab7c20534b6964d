package client

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// pinning is a question to the daemon for a stored object's place. The answer
// may take its time: the object is being written, or comes back from disk.
type pinning struct {
	users int  // who wait; each gets a hold
	ahead bool // see readahead.go
	freed bool // the daemon said meanwhile that the object's owner has let go of it
	done  chan struct{}
	view  *view // mu guards these once done is closed
	err   error
}

// errSlow: the time passed and the daemon has not answered yet.
var errSlow = fault.New(fault.Internal, "the object store has not answered yet")

// lookFor is how long the daemon's answer is waited for at least: who only looks
// shall find what is in memory.
const lookFor = 200 * time.Millisecond

// askPlace begins to pin an object, or joins who does; mu held. The caller waits.
func (c *Client) askPlace(id ids.Object) *pinning {
	p := c.pinnings[id]
	if p == nil {
		p = &pinning{done: make(chan struct{})}
		if c.pinnings == nil {
			c.pinnings = make(map[ids.Object]*pinning)
		}
		c.pinnings[id] = p
		c.askAlone(id, p)
	}
	p.users++
	return p
}

// askAlone asks the daemon for one object's place; mu held.
func (c *Client) askAlone(id ids.Object, p *pinning) {
	c.daemon.Go(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, func(m *wire.Message, err error) {
		var at wire.ObjPlace
		if err == nil {
			err = m.Decode(&at)
		}
		if err == nil && at.Path != "" {
			go func() { // opening a file can take a while
				file, err := store.MapFile(at.Path, at.Offset, at.Size)
				c.placed(id, p, at, file, true, err)
			}()
			return
		}
		c.placed(id, p, at, nil, err == nil, err)
	})
}

// placed ends a pinning.
func (c *Client) placed(id ids.Object, p *pinning, at wire.ObjPlace, file *store.FileView, pinned bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settlePlace(id, p, at, file, pinned, err)
}

// settlePlace is placed with mu held.
func (c *Client) settlePlace(id ids.Object, p *pinning, at wire.ObjPlace, file *store.FileView, pinned bool, err error) {
	defer close(p.done)
	delete(c.pinnings, id)
	switch {
	case err == nil && !c.closed:
		v := &view{n: viewSeq.Add(1), id: id, off: at.Offset, size: at.Size, file: file, holds: p.users, freed: p.freed}
		c.views[v.n], c.mapped[id] = v, v
		p.view = v
		if p.users == 0 && !(p.ahead && c.keepAhead(v)) { // they have given up
			c.unhold(v)
		}
		return
	case c.closed:
		err = c.why
	}
	file.Close()
	if pinned {
		c.push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
	}
	p.err = fmt.Errorf("get object %s: %w", id, err)
}

// pin maps an object of the store and holds it; mu held on entry and exit,
// released while the daemon is asked. errSlow: the deadline passed.
func (c *Client) pin(id ids.Object, deadline time.Time) (*view, error) {
	if v := c.mapped[id]; v != nil {
		if v.holds == 0 {
			c.idle.unlist(v)
		}
		v.holds++
		return v, nil
	}
	return c.awaitPlace(c.askPlace(id), deadline)
}

// awaitPlace waits for an answer; mu as in pin.
func (c *Client) awaitPlace(p *pinning, deadline time.Time) (*view, error) {
	c.mu.Unlock()
	if deadline.IsZero() {
		<-p.done
	} else {
		t := time.NewTimer(max(time.Until(deadline), lookFor))
		select {
		case <-p.done:
		case <-t.C:
		}
		t.Stop()
	}
	c.mu.Lock()
	select {
	case <-p.done:
		return p.view, p.err
	default:
		p.users--
		return nil, errSlow
	}
}

// pinStored pins the stored copy of an object for as long as the table has it, and
// gives the caller a hold of its own; mu as in pin. A copy that was freed is not
// pinned for the table: it goes when nobody looks at it any more.
func (c *Client) pinStored(o *refs.Object, deadline time.Time) (*view, error) {
	if v := viewOf(o); v != nil {
		v.holds++
		return v, nil
	}
	c.table.PinHere(o) // it must not go while we ask
	if len(c.expected) > 0 {
		c.askAhead(o.ID)
	}
	v, err := c.pin(o.ID, deadline)
	if err == nil {
		c.keepMapped(o, v)
	}
	c.table.Unpin(o)
	c.carryOut()
	return v, err
}

// keepMapped has the table hold a view of an object, for the next get; mu held.
func (c *Client) keepMapped(o *refs.Object, v *view) {
	if o.Copy() == nil && !v.freed {
		o.SetCopy(v)
		v.holds++
	}
}

// pinArguments has all stored arguments of a call brought to memory at the same
// time; the caller lets go of them when it has opened them, which tells what
// went wrong. Mu as in pin.
func (c *Client) pinArguments(k *call) (held []*view) {
	if len(k.deps) == 0 {
		return nil
	}
	var asked []*pinning
	ask := func(p *frame.Place) {
		if p.Envelope == nil && p.Size > 0 && c.mapped[p.ID] == nil {
			asked = append(asked, c.askPlace(p.ID))
		}
	}
	ask(&k.args)
	for i := range k.deps {
		ask(&k.deps[i])
	}
	if len(asked) > 0 {
		c.poller.SendAll() // answers that wait to share a write do not wait for the store
	}
	for _, p := range asked {
		if v, err := c.awaitPlace(p, time.Time{}); err == nil {
			held = append(held, v)
		}
	}
	return held
}

// letGoOfViews unpins what the program does not look at. It stays pinned for the
// next get only while nobody needs the room.
func (c *Client) letGoOfViews() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.takeDrops()
	c.dropSpare()
	c.unpinAllIdle()
	for _, v := range c.mapped {
		if o := c.table.Find(v.id); o != nil && v.holds == 1 && o.Copy() == v {
			o.SetCopy(nil)
			c.unhold(v)
		}
	}
}
