package access

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/nodestore"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Value is a serialised value from the program. Nothing here keeps it.
type Value = envelope.Value

// Found is a value for the program.
type Found = nodestore.Found

// Put makes an object of the value; the program gets one reference.
func (a *Objects) Put(v *Value) (ids.Object, error) {
	total := v.Size()
	var env []byte
	if total <= frame.MaxInline {
		env = v.Envelope(total)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ids.Object{}, a.why
	}
	a.TakeDrops()
	o := a.table.New(0, 1)
	o.SetSite(v.Site)
	id := o.ID
	a.contain(o, v.Nested)
	if env != nil {
		a.table.PutInline(o, env, uint64(total))
		return id, nil
	}
	if err := a.local.PutLarge(id, v, total); err != nil {
		a.table.Unref(o, 1)
		a.table.CarryOut()
		return ids.Object{}, err
	}
	a.table.PutStored(o, uint64(total), false)
	return id, nil
}

func (a *Objects) contain(outer *refs.Object, nested []ids.Object) {
	for _, id := range nested {
		if in := a.table.Find(id); in != nil {
			if !planted.Strikes(planted.EarlyFree) {
				a.table.Contain(outer, in)
			}
		}
	}
}

// noteLook notes that the program is getting a value; mu held.
func (a *Objects) noteLook(o *refs.Object, envelope []byte) {
	if !o.Owned() && len(envelope) > 2 && store.Format(envelope[2]) == store.FormatPickleRefs {
		a.table.Got(o, envelope)
	}
}

// Holds returns how many objects this process owns and borrows.
func (a *Objects) Holds() (owned, borrowed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.TakeDrops()
	return a.table.Len()
}
