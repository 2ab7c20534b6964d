package client

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// What this process says to the owners of the references that it borrows, and
// what they answer. The reference table decides what is said (refs.OwnerEffects).

// borrow returns the object of a reference that came from elsewhere and
// registers us with its owner; mu held.
func (c *Client) borrow(id ids.Object, addr string) *refs.Object { return c.table.Borrow(id, addr) }

// Borrow implements refs.Effects.
func (h *host) Borrow(o *refs.Object) { h.links.To(o.OwnerAddr()).Batch(wire.TRefBorrow, raw(o.ID)) }

// register tells an owner about references of its that we have begun to hold.
func (c *Client) register(list [][]byte, p *wire.Peer, err error) {
	if err == nil && !planted.Strikes(planted.SkippedCount) {
		p.Go(wire.TRefBorrow, wire.ObjRefs{ObjectIDs: list}, func(*wire.Message, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.registeredNow(len(list))
		})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.table.Unreachable(list)
	}
	c.registeredNow(len(list))
}

// registeredNow notes that n references are registered, or that their owner has ended; mu held.
func (c *Client) registeredNow(n int) {
	if c.table.Registered(n); c.table.Unregistered() == 0 {
		c.takeDrops()
	}
}

// GiveBack implements refs.Effects.
func (h *host) GiveBack(o *refs.Object) {
	l := h.links.Find(o.OwnerAddr())
	if l == nil || planted.Strikes(planted.LostReturn) {
		return // it is gone
	}
	l.Batch(wire.TRefReturn, raw(o.ID))
}

// Ask implements refs.Effects.
func (h *host) Ask(o *refs.Object, q refs.Question) {
	c, id := (*Client)(h), o.ID
	answered := func(v *wire.RefValue, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.closed {
			c.table.Answered(id, q, v, err)
		}
	}
	c.withPeer(o.OwnerAddr(), func(p *wire.Peer, err error) {
		if err != nil {
			answered(nil, fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended (%v)", id, err))
			return
		}
		p.Go(wire.TRefWait, wire.RefWait{ObjectID: id[:], Lost: q == refs.ForLost, Infeasible: q == refs.ForFeasible}, func(m *wire.Message, err error) {
			if err != nil {
				if fault.CodeOf(err) == fault.Internal {
					err = refs.OwnerDied(id)
				}
				answered(nil, err)
				return
			}
			v := new(wire.RefValue)
			answered(v, m.Decode(v))
		})
	})
}

// Reach implements refs.Effects.
func (h *host) Reach(addr string) { h.links.To(addr) }

// Connected implements refs.Effects.
func (h *host) Connected(p ids.Owner) bool { return h.served.Has(p) }

// Import makes a reference of an id that came from elsewhere, at a site of the program.
func (c *Client) Import(id ids.Object, addr string, site uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.why
	}
	if addr == c.info.Addr {
		addr = ""
	}
	o := c.borrow(id, addr)
	c.table.Ref(o)
	c.arrived(o, site)
	return nil
}

// Export returns the owner's socket of a reference.
func (c *Client) Export(id ids.Object) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table.Find(id)
	if o == nil {
		return "", fault.New(fault.ObjectLost, "object %s is not known here", id)
	}
	o.MarkShared()
	return c.addrOf(o), nil
}

// RefTable makes the table of a value's references.
func (c *Client) RefTable(list []*ids.Object) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, c.why
	}
	return c.table.WriteRefs(list)
}

// ImportAll makes a batch of the references of a table that came from elsewhere,
// at a site of the program. The number is what drops of the batch say.
func (c *Client) ImportAll(table []byte, site uint32, b refs.Batch) (number uint64, err error) {
	v, err := refs.ReadRefs(table)
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, c.why
	}
	return c.table.ImportBatch(v, c.arrivalSite(site), b)
}

// ImportTable makes a reference of each in the table in front of a value, and returns what follows the table.
func (c *Client) ImportTable(table []byte) (list []ids.Object, rest []byte, err error) {
	v, err := refs.ReadRefs(table)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, c.why
	}
	for _, o := range c.table.Import(v, c.arrivalSite(0)) {
		list = append(list, o.ID)
	}
	return list, v.Rest(), nil
}

// Keep ties something to an object that this process owns: release runs once,
// on a goroutine of its own, when nobody holds the object any more or the
// session ends. It is how memory of a device lives as long as the references
// to it in other processes. On an error release does not run.
func (c *Client) Keep(id ids.Object, release func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.why
	}
	return c.table.Keep(id, release)
}

// withPeer has f called with a control connection to a process, or with why
// there is none; mu held, but not in f.
func (c *Client) withPeer(addr string, f func(*wire.Peer, error)) { c.links.To(addr).Do(f) }
