package client

import "github.com/eagleray/eagleray/core/refs"

// takeDrops handles what the program let go of; mu held.
//
// While an owner has not acknowledged a reference that we have just got, what
// that reference came in must not go: then nobody the owner knows of would hold
// it. What cannot have brought a reference goes at once all the same, for an
// owner that is stopped or very busy would keep it for as long.
func (c *Client) takeDrops() {
	if c.opts.Drops != nil {
		c.dropQ = append(c.dropQ, c.opts.Drops()...)
	}
	if c.unacked > 0 {
		if len(c.dropQ) == 0 {
			return
		}
		for _, d := range c.dropQ {
			if c.harmless(d) {
				c.drop(d)
			} else {
				c.dropWait = append(c.dropWait, d)
			}
		}
	} else {
		if len(c.dropQ)+len(c.dropWait) == 0 {
			return
		}
		for _, d := range c.dropWait {
			c.drop(d)
		}
		for _, d := range c.dropQ {
			c.drop(d)
		}
		c.dropWait = emptied(c.dropWait)
	}
	c.dropQ = emptied(c.dropQ)
	c.carryOut()
}

// keptDrops is for how many drops room is kept: a program that lets go of a
// million references at once does so once.
const keptDrops = 1 << 14

// emptied returns an empty slice for the next ones.
func emptied(list []Drop) []Drop {
	if cap(list) > keptDrops {
		return nil
	}
	return list[:0]
}

// harmless reports whether no reference can have come out of what is let go of:
// a look at memory, and an object of ours that contains none. mu held.
func (c *Client) harmless(d Drop) bool {
	if d.View == DropStream {
		return false
	}
	if d.View != 0 {
		return true
	}
	o := c.table.Find(d.Object)
	return o == nil || c.isHarmless(o)
}

func (c *Client) isHarmless(o *refs.Object) bool {
	return o.Owned() && o.Contained() == nil && !o.IsToken() // an actor's end would let go of what the actor has given us
}

// drop lets one go; mu held, carryOut is to follow.
func (c *Client) drop(d Drop) {
	switch {
	case d.View == DropStream:
		c.leaveStream(d.Object)
	case d.View == DropSome, d.View == DropLast:
		c.dropSheaf(d.Object.Count(), d.View == DropLast)
	case isLoan(d.View):
		EndLoan(d.View)
	case d.View != 0:
		if v := c.views[d.View]; v != nil {
			v.inUse--
			c.rest(v)
		} else {
			dropOrphan(d.View) // of an earlier session
		}
	default:
		if o := c.table.Find(d.Object); o != nil {
			c.table.Unref(o, 1)
		}
	}
}
