package access

import (
	"bytes"

	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

// An exception of more than frame.MaxInline bytes lies in the store, as any other
// large result does. What fails because of it, for instance the tasks that take
// it as an argument, has no copy of its own: its value says where the exception
// is (store.FormatElsewhere), and keeps that object alive.

// Pointer implements refs.Effects: it returns the envelope that stands for an exception in the store.
func (a *Objects) Pointer(o *refs.Object) []byte {
	v := envelope.PointTo(&frame.Pointer{ID: o.ID, Owner: a.table.AddrOf(o), Size: o.Size()})
	n := v.Size()
	return v.Envelope(n)
}

// Follow takes an envelope that points to an exception, and returns the exception's envelope,
// or the envelope of a fault in its place. It returns any other envelope as it is.
func (a *Objects) Follow(env []byte) ([]byte, error) {
	p, err := envelope.PointerIn(env)
	if p == nil || err != nil {
		return env, err
	}
	got, err := a.follow(p)
	lost := err != nil || len(got) > 2 && store.Format(got[2]) == store.FormatFault
	if lost && len(p.Brief) > 0 {
		return envelope.Brief(p.Brief), nil
	}
	return got, err
}

func (a *Objects) follow(p *frame.Pointer) ([]byte, error) {
	if err := a.Import(p.ID, p.Owner, 0); err != nil {
		return nil, err
	}
	defer a.Release(Drop{Object: p.ID})
	f, err := a.Get(p.ID, -1)
	if err != nil {
		return nil, err
	}
	if f.View != 0 {
		defer a.Release(Drop{View: f.View})
	}
	return bytes.Clone(f.Envelope), nil
}
