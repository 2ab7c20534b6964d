package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// A program that puts one large object after another, and lets each go before the
// next, gets the same memory each time, and its pages are mapped here and may be in the
// caches. Asking the daemon for it would take longer than writing it. So
//
//   - what put has written stays pinned here, as if it had been looked at: only the latest;
//   - when the last reference to that goes, and it was never given to anybody else, its
//     range stays for a moment, for a put that fits: that tells the daemon that the new
//     object takes the old one's place (TObjReuse), and waits for no answer.
//
// Nobody else can have the object pinned, and what is pinned does not move: so the range
// is ours to write. The daemon gets all of it back when it wants room.

const (
	reuseFrom = 1 << 20               // bytes of an object that is worth it
	reuseMost = 4                     // parts of a range of which at most one may be wasted
	spareFor  = 20 * time.Millisecond // how long a range waits for the next put
)

// spareRange is the range of an object that is gone, for the next put.
type spareRange struct {
	view  *view
	stays time.Duration // spareFor; tests have their own
	timer *time.Timer
}

// keepWritten pins what put has just written; the daemon has been told by the seal. Mu held.
func (c *Client) keepWritten(id ids.Object, at wire.ObjPlace, total int) {
	v := &view{n: viewSeq.Add(1), id: id, off: at.Offset, size: uint64(total), written: true}
	c.views[v.n], c.mapped[id] = v, v
	c.unpinWritten()
	c.idle.written = v
	c.idleFrom(v)
}

// unpinWritten gives up what put has written before; mu held.
func (c *Client) unpinWritten() {
	if v := c.idle.written; v != nil {
		c.idle.written = nil
		if v.holds == 0 && c.mapped[v.id] == v {
			c.unpinIdle(v)
		}
	}
}

// spared keeps the range of an object that is dead for the next put, if it can; mu held.
func (c *Client) spared(o *refs.Object) bool {
	v := c.mapped[o.ID]
	if v == nil || v != c.idle.written || o.Shared() || o.State() != refs.Stored || !o.Owned() || c.closed {
		return false
	}
	held := 0
	if o.Copy() == v {
		held = 1
	}
	if v.holds != held { // the program still looks at it
		return false
	}
	if held == 0 {
		c.idle.unlist(v)
	}
	o.SetCopy(nil)
	c.idle.written = nil
	v.holds = 1 // the spare's
	c.dropSpare()
	s := &c.spare
	s.view = v
	if s.timer == nil {
		s.timer = time.AfterFunc(s.stays, c.spareRests)
	} else {
		s.timer.Reset(s.stays)
	}
	return true
}

// dropSpare gives the range back; mu held.
func (c *Client) dropSpare() {
	if v := c.spare.view; v != nil {
		c.spare.view = nil
		// First freed: what is unpinned while others wait for room goes to disk if somebody may want it.
		c.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{raw(v.id)}})
		c.unhold(v)
	}
}

// spareRests is run by the timer: no put has come.
func (c *Client) spareRests() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.dropSpare()
	}
}

// reuse gives a new object of total bytes the spare range, if that fits; mu held.
func (c *Client) reuse(id ids.Object, total int) (at wire.ObjPlace, ok bool) {
	v := c.spare.view
	if v == nil {
		return at, false
	}
	if n := uint64(total); n > v.size || v.size-n > v.size/reuseMost {
		c.dropSpare()
		return at, false
	}
	c.spare.view = nil
	delete(c.views, v.n)
	delete(c.mapped, v.id)
	// Not by the writer: this thread copies next, and the seal would wait for it.
	_ = c.daemon.PushAtOnce(wire.TObjReuse, wire.ObjReuse{Old: v.id[:], ObjectID: id[:], Size: uint64(total)})
	return wire.ObjPlace{Offset: v.off, Size: uint64(total)}, true
}

// putLarge writes a value that put was given to the store; mu held, released meanwhile.
func (c *Client) putLarge(id ids.Object, v *Value, total int) error {
	keep := total >= reuseFrom
	at, reused := wire.ObjPlace{}, false
	if keep {
		if at, reused = c.reuse(id, total); !reused {
			c.unpinWritten()
		}
	}
	c.mu.Unlock()
	var err error
	if !reused {
		at, err = c.create(id, total, false, true, nil)
	}
	keep = keep && at.Path == ""
	if err == nil {
		err = c.writeValue(id, at, v, keep)
	}
	c.mu.Lock()
	if err == nil && keep && !c.closed {
		c.keepWritten(id, at, total)
	}
	return err
}
