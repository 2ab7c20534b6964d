package client

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// A worker's next task often takes what the last one took. So what a task has looked
// at stays pinned when nobody looks at it any more, as long as nobody needs the room:
// the next task then finds it without a word to the daemon. It is unpinned
//
//   - when it has not been looked at for a while, or others have been looked at since,
//   - at once when its owner has freed it, of which the daemon tells (TObjFreed),
//   - at once when the daemon wants room (TObjLetGo).
//
// A program's own objects, and what its references hold, are not among them: those
// the table has. Files are not either: a spilled object is better brought back.

const (
	viewsRest = time.Second // how long a view that nobody looks at stays
	mostIdle  = 256         // views at a time
)

// idleViews are the views that nobody holds, the one looked at last at the end.
type idleViews struct {
	first, last *view
	n           int
	written     *view         // what put wrote last, idle or not
	rest        time.Duration // viewsRest; tests have their own
	timer       *time.Timer   // runs while there are any
}

// rest ends a hold that a task had; mu held.
func (c *Client) rest(v *view) {
	if c.exec == nil || v.holds > 1 || v.freed || v.file != nil || c.closed || c.mapped[v.id] != v || v.id.Owner() == c.self {
		c.unhold(v)
		return
	}
	v.holds = 0
	c.idleFrom(v)
}

// idleFrom lists a view that nobody holds; mu held.
func (c *Client) idleFrom(v *view) {
	l := &c.idle
	v.since = time.Now()
	if v.older = l.last; v.older != nil {
		v.older.newer = v
	} else {
		l.first = v
	}
	l.last = v
	if l.n++; l.n > mostIdle {
		c.unpinIdle(l.first)
	}
	if l.n == 1 {
		if l.timer == nil {
			l.timer = time.AfterFunc(l.rest, c.restViews)
		} else {
			l.timer.Reset(l.rest)
		}
	}
}

// unlist takes a view out of the list: it is held again, or goes.
func (l *idleViews) unlist(v *view) {
	if v.older != nil {
		v.older.newer = v.newer
	} else {
		l.first = v.newer
	}
	if v.newer != nil {
		v.newer.older = v.older
	} else {
		l.last = v.older
	}
	v.older, v.newer = nil, nil
	l.n--
}

// unpinIdle gives an idle view up; mu held.
func (c *Client) unpinIdle(v *view) {
	c.idle.unlist(v)
	if v == c.idle.written {
		c.idle.written = nil
	}
	c.unpin(v)
}

// unpinAllIdle gives all of them up: somebody needs the room; mu held.
func (c *Client) unpinAllIdle() {
	for c.idle.first != nil {
		c.unpinIdle(c.idle.first)
	}
}

// restViews is run by the timer: what has been idle for long goes.
func (c *Client) restViews() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	now := time.Now()
	for v := c.idle.first; v != nil && now.Sub(v.since) >= c.idle.rest; v = c.idle.first {
		c.unpinIdle(v)
	}
	if v := c.idle.first; v != nil {
		c.idle.timer.Reset(c.idle.rest - now.Sub(v.since))
	}
}

// freedElsewhere serves TObjFreed: the owners let go of these.
func (c *Client) freedElsewhere(q *wire.ObjRefs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.takeDrops() // the program may have let go of one just now
	for _, b := range q.ObjectIDs {
		if id, err := ids.ParseObject(b); err == nil {
			c.valueFreed(id)
		}
	}
}

// valueFreed gives up what only waits here to be looked at again of a value that its owner
// has let go of, were it this process: the idle view, and that of the references to
// the object. Its memory then waits only for those who look at it now; mu held.
func (c *Client) valueFreed(id ids.Object) {
	v := c.mapped[id]
	switch {
	case v == nil:
		if p := c.pinnings[id]; p != nil { // its place is known, and its file is being opened
			p.freed = true
		}
		return
	case v == c.spare.view:
		return
	case v.holds == 0:
		c.unpinIdle(v)
		return
	}
	v.freed = true
	if o := c.table.Find(id); o != nil && o.Copy() == v {
		o.SetCopy(nil)
		c.unhold(v)
	}
}
