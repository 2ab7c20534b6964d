package client

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/own"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// An exception of more than MaxInline bytes lies in the store, as any other
// large result does. What fails because of it, for instance the tasks that take
// it as an argument, has no copy of its own: its value says where the exception
// is (FmtElsewhere), and keeps that object alive.

// failAs ends o with the exception that from, which is ready, has; mu held.
func (c *Client) failAs(o, from *own.Object) {
	if o.State.Ready() {
		return
	}
	switch from.State {
	case own.Inline:
		if len(from.Contained) > 0 || !from.Owned() { // references inside have to live for as long as o
			c.table.Contain(o, from)
		}
		c.complete(o, own.Inline, from.Value, from.Size, true)
	case own.Stored:
		c.table.Contain(o, from)
		value := c.elsewhere(from)
		c.complete(o, own.Inline, value, uint64(len(value)), true)
	default:
		c.failObject(o, from.Fault)
	}
}

// elsewhere returns the envelope that stands for an exception in the store.
func (c *Client) elsewhere(o *own.Object) []byte {
	v := Value{Fmt: FmtElsewhere, Meta: (&pointer{id: o.ID, addr: c.addrOf(o), size: o.Size}).meta()}
	n, _ := v.layout()
	return v.envelope(n)
}

// pointer is what an envelope of FmtElsewhere says.
type pointer struct {
	id    ids.Object
	addr  string // the socket of its owner
	size  uint64
	brief []byte // the exception in short, for who cannot get it; may be empty
}

func (p *pointer) meta() []byte {
	meta := wire.AppendArray(nil, 4)
	meta = wire.AppendBin(meta, p.id[:])
	meta = wire.AppendStr(meta, p.addr)
	meta = wire.AppendUint(meta, p.size)
	return wire.AppendBin(meta, p.brief)
}

// pointerIn reads an envelope of FmtElsewhere; nil for any other envelope.
func pointerIn(env []byte) (*pointer, error) {
	if len(env) < 3 || store.Format(env[2]) != store.FormatElsewhere { // behind the head of the array and the version
		return nil, nil
	}
	e, err := store.Parse(env)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(e.Meta)
	r.Array()
	p := new(pointer)
	p.id, err = ids.ParseObject(r.Bin())
	p.addr, p.size, p.brief = r.Str(), r.Uint(), r.Bin()
	if err = errors.Join(err, r.Err()); err != nil {
		return nil, fmt.Errorf("the place of an exception: %w", err)
	}
	return p, nil
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
	if lost && len(p.brief) > 0 {
		return briefly(p.brief), nil
	}
	return got, err
}

// briefly returns the envelope of an exception's short form.
func briefly(brief []byte) []byte {
	v := Value{Fmt: FmtError, Meta: brief}
	n, _ := v.layout()
	return v.envelope(n)
}

func (c *Client) follow(p *pointer) ([]byte, error) {
	if err := c.Import(p.id, p.addr, 0); err != nil {
		return nil, err
	}
	defer c.Release(Drop{Object: p.id})
	f, err := c.Get(p.id, -1)
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
