package localstore

import (
	"fmt"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

var _ refs.Copy = (*View)(nil)

// viewSeq numbers the views of all sessions of the process.
var viewSeq atomic.Uint64

// ID returns the object.
func (v *View) ID() ids.Object { return v.id }

// InUse implements refs.Copy: it reports whether the program looks at the view.
func (v *View) InUse() bool { return v.inUse > 0 }

// ViewOf returns the view that the table holds of the object's stored copy, nil when it holds none.
func ViewOf(o *refs.Object) *View {
	v, _ := o.Copy().(*View)
	return v
}

// add makes the view of an object.
func (s *Store) add(v *View) {
	v.n = viewSeq.Add(1)
	s.views[v.n], s.mapped[v.id] = v, v
}

// Has reports whether there is a view of an object.
func (s *Store) Has(id ids.Object) bool { return s.mapped[id] != nil }

// Held gives the caller a hold of the table's view of an object; nil when the table has none.
func Held(o *refs.Object) *View {
	v := ViewOf(o)
	if v != nil {
		v.holds++
	}
	return v
}

// KeepFor has the table hold a view of an object, for the next get. It does not
// keep a copy that the owner has freed: that goes when nobody looks at it any more.
func (s *Store) KeepFor(o *refs.Object, v *View) {
	if o.Copy() == nil && !v.freed {
		o.SetCopy(v)
		s.table.SetHome(o, 0)
		v.holds++
	}
}

// Open hands a view that the caller holds to the program, as memory and with the
// number that Drop takes. The hold becomes the program's; after an error it stays the caller's.
func (s *Store) Open(v *View) (b []byte, n uint64, err error) {
	if b, err = s.bytes(v); err != nil {
		return nil, 0, fmt.Errorf("get object %s: %w", v.id, err)
	}
	v.inUse++
	return b, v.n, nil
}

// bytes returns the memory of a view.
func (s *Store) bytes(v *View) ([]byte, error) {
	if v.file != nil {
		return v.file.Bytes(), nil
	}
	return s.mapping.Slice(v.off, v.size)
}

// Unhold ends a hold. With the last one the object is unpinned.
func (s *Store) Unhold(v *View) {
	if v.holds--; v.holds <= 0 {
		s.unpin(v)
	}
}

// unpin allows the daemon to move or free the object that the view shows.
func (s *Store) unpin(v *View) {
	s.forget(v)
	v.file.Close()
	s.daemon.Unpin(v.id)
}

// forget takes a view out of the tables.
func (s *Store) forget(v *View) {
	delete(s.views, v.n)
	if s.mapped[v.id] == v {
		delete(s.mapped, v.id)
	}
}

// tableLetsGo ends the hold that the table has of a view, if it has one.
func (s *Store) tableLetsGo(v *View) {
	if o := s.table.Find(v.id); o != nil && o.Copy() == v {
		o.SetCopy(nil)
		s.Unhold(v)
	}
}

// Detach gives the views that the program looks at memory of their own, with what
// they show now: the daemon uses the arena's memory for other objects as soon as
// this process has left.
func (s *Store) Detach() {
	for _, v := range s.views {
		if b, err := s.bytes(v); v.inUse > 0 && err == nil {
			_ = store.Detach(b) // without memory for a copy, what the view shows may change
		}
	}
}

// span is the range of the arena that a view shows.
func (v *View) span() store.Span { return store.Span{Off: v.off, Size: v.size} }
