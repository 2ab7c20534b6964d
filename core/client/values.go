package client

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// Formats of envelopes.
const (
	FmtNone     = 0
	FmtMsgpack  = 1
	FmtNDArray  = 2
	FmtPickle   = 3
	FmtError    = 4
	FmtBytes    = 5
	FmtArgs     = 6
	FmtArgsPack = 7
	FmtFault    = 8

	FmtElsewhere = 11
)

// Value is a serialised value on its way in. Nothing here keeps it.
type Value struct {
	Fmt    uint8
	Meta   []byte
	Bufs   [][]byte
	Nested []ids.Object // references inside
	Site   uint32       // where in the program it was given; 0: not known
}

func (v *Value) layout() (total int, offsets []int) {
	return store.Layout(len(v.Meta), v.lens(), nil)
}

func (v *Value) lens() []int {
	if len(v.Bufs) == 0 {
		return nil
	}
	lens := make([]int, len(v.Bufs))
	for i, b := range v.Bufs {
		lens[i] = len(b)
	}
	return lens
}

// envelope copies the value into one fresh slice.
func (v *Value) envelope(total int) []byte {
	return store.AppendEnvelope(make([]byte, 0, total), store.Format(v.Fmt), v.Meta, v.Bufs...)
}

// Found is a value on its way out: an envelope in this process's memory, valid
// while the reference is held, or in the arena, valid while the view is held.
type Found struct {
	Envelope []byte
	View     uint64 // 0: not in the arena. Else give one Drop{View} back
	IsError  bool
}

// call asks the daemon and waits; mu must not be held.
func (c *Client) call(t wire.Type, body, reply any) error {
	err := c.daemon.Call(context.Background(), t, body, reply)
	if err != nil {
		if why := c.Err(); why != nil {
			return why
		}
	}
	return err
}

// Put makes an object of the value; the program gets one reference.
func (c *Client) Put(v *Value) (ids.Object, error) {
	total, _ := v.layout()
	var env []byte
	if total <= MaxInline {
		env = v.envelope(total)
	}
	c.mu.Lock()
	if c.closed {
		err := c.why
		c.mu.Unlock()
		return ids.Object{}, err
	}
	c.takeDrops()
	o := c.table.New(0, 1)
	o.SetSite(v.Site)
	id := o.ID
	c.contain(o, v.Nested)
	if env != nil {
		c.table.PutInline(o, env, uint64(total))
		c.mu.Unlock()
		return id, nil
	}
	err := c.putLarge(id, v, total)
	defer c.mu.Unlock()
	if err != nil {
		c.table.Unref(o, 1)
		c.carryOut()
		return ids.Object{}, err
	}
	c.table.PutStored(o, uint64(total), false)
	return id, nil
}

func (c *Client) contain(outer *refs.Object, nested []ids.Object) {
	for _, id := range nested {
		if in := c.table.Find(id); in != nil {
			if !planted.Strikes(planted.EarlyFree) {
				c.table.Contain(outer, in)
			}
		}
	}
}

// fetch returns a ready object's value; mu held on entry and exit, released to
// pin a stored copy; localstore.ErrNoAnswer when that takes longer than until the deadline.
func (c *Client) fetch(o *refs.Object, deadline time.Time) (Found, error) {
	if o.IsError() {
		o.MarkSeen()
	}
	switch o.State() {
	case refs.Inline:
		return Found{Envelope: o.Value(), IsError: o.IsError()}, nil
	case refs.Failed, refs.Infeasible:
		o.MarkSeen()
		return Found{Envelope: faultEnvelope(o), IsError: true}, nil
	case refs.Stored:
		v, err := c.pinStored(o, deadline)
		if err != nil {
			return Found{}, err
		}
		b, n, err := c.local.Open(v)
		if err != nil {
			c.local.Unhold(v)
			return Found{}, err
		}
		return Found{Envelope: b, View: n, IsError: o.IsError()}, nil
	}
	return Found{}, fmt.Errorf("object %s is not ready", o.ID)
}

// noteLook notes that the program is getting a value; mu held.
func (c *Client) noteLook(o *refs.Object, envelope []byte) {
	if !o.Owned() && len(envelope) > 2 && store.Format(envelope[2]) == store.FormatPickleRefs {
		c.table.Got(o, envelope)
	}
}

// faultEnvelope returns the envelope of a failed or infeasible object, and keeps it with the object.
func faultEnvelope(o *refs.Object) []byte {
	if o.Value() == nil {
		o.SetFaultEnvelope(encodeFault(o.Fault()))
	}
	return o.Value()
}

func encodeFault(f *fault.Error) []byte { return store.EncodeFault(f) }

// push tells the daemon; a broken connection ends the session elsewhere.
func (c *Client) push(t wire.Type, body any) { _ = c.daemon.Push(t, body) }

// Holds returns how many objects this process owns and borrows.
func (c *Client) Holds() (owned, borrowed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeDrops()
	return c.table.Len()
}

func deadlineOf(timeout time.Duration) time.Time {
	if timeout < 0 {
		return time.Time{}
	}
	return time.Now().Add(timeout)
}
