package client

import (
	"bytes"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/frame"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// An exception of more than MaxInline bytes lies in the store, as any other
// large result does. What fails because of it, for instance the tasks that take
// it as an argument, has no copy of its own: its value says where the exception
// is (FmtElsewhere), and keeps that object alive.

// failAs fails o with the exception that from, which is ready, has; mu held.
func (c *Client) failAs(o, from *refs.Object) { c.table.FailAs(o, from) }

// Pointer implements refs.Effects: it returns the envelope that stands for an exception in the store.
func (h *host) Pointer(o *refs.Object) []byte {
	v := pointTo(&frame.Pointer{ID: o.ID, Owner: h.table.AddrOf(o), Size: o.Size()})
	n, _ := v.layout()
	return v.envelope(n)
}

// pointTo returns the value that stands for an exception in the store.
func pointTo(p *frame.Pointer) Value {
	return Value{Fmt: FmtElsewhere, Meta: frame.AppendPointer(nil, p)}
}

// pointerIn reads an envelope of FmtElsewhere; nil for any other envelope.
func pointerIn(env []byte) (*frame.Pointer, error) {
	if len(env) < 3 || store.Format(env[2]) != store.FormatElsewhere { // behind the head of the array and the version
		return nil, nil
	}
	e, err := store.Parse(env)
	if err != nil {
		return nil, err
	}
	p, err := frame.ReadPointer(e.Meta)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// Follow returns the envelope of the exception that an envelope says is elsewhere,
// or of the fault that is in its place; any other envelope as it is.
func (c *Client) Follow(env []byte) ([]byte, error) {
	p, err := pointerIn(env)
	if p == nil || err != nil {
		return env, err
	}
	got, err := c.follow(p)
	lost := err != nil || len(got) > 2 && store.Format(got[2]) == store.FormatFault
	if lost && len(p.Brief) > 0 {
		return briefly(p.Brief), nil
	}
	return got, err
}

// briefly returns the envelope of an exception's short form.
func briefly(brief []byte) []byte {
	v := Value{Fmt: FmtError, Meta: brief}
	n, _ := v.layout()
	return v.envelope(n)
}

func (c *Client) follow(p *frame.Pointer) ([]byte, error) {
	if err := c.Import(p.ID, p.Owner, 0); err != nil {
		return nil, err
	}
	defer c.Release(Drop{Object: p.ID})
	f, err := c.Get(p.ID, -1)
	if err != nil {
		return nil, err
	}
	if f.View != 0 {
		defer c.Release(Drop{View: f.View})
	}
	return bytes.Clone(f.Envelope), nil
}

// unstored is what a task fails with when one of its results cannot be written
// to the store. When that is an exception, the text of it is told.
func unstored(v *Value, err error) *fault.Error {
	f := fault.From(err)
	if v.Fmt != FmtError {
		return f
	}
	r := wire.NewReader(v.Meta) // see python/eagleray/_private/task_error.py
	r.Array()
	name, what, trace := r.Str(), r.Str(), r.Str()
	if r.Err() != nil {
		return f
	}
	return fault.New(f.Code, "%s raised an exception of %d bytes, which could not be written to the object store. %s\n%s\n%s", name, len(v.Meta), f.Message, what, trace)
}
