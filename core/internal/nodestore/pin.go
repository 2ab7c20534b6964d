package nodestore

import (
	"context"
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// AwaitArgument maps an object of the store, which a task has as its argument, and holds it. It returns localstore.ErrNoAnswer when
// the deadline has passed; a zero deadline is none.
func (s *Store) AwaitArgument(id ids.Object, deadline time.Time) (*localstore.View, error) {
	v, p := s.PinArgument(id)
	if v != nil {
		return v, nil
	}
	return s.AwaitPlace(p, deadline)
}

// AwaitPlace waits for the answer to a pinning, for a moment at least.
func (s *Store) AwaitPlace(p *localstore.Pinning, deadline time.Time) (*localstore.View, error) {
	if !deadline.IsZero() {
		deadline = until(deadline)
	}
	s.pause(p.Done(), nil, deadline)
	return s.Take(p)
}

// PinStored pins the stored copy of an object for as long as the table has it, and
// gives the caller a hold of its own. A copy that was freed is not pinned for the table:
// it goes when nobody looks at it any more.
func (s *Store) PinStored(o *refs.Object, deadline time.Time) (*localstore.View, error) {
	if v := localstore.Held(o); v != nil {
		return v, nil
	}
	s.table.PinHere(o) // the object must not go while we ask
	v, p := s.PinNext(o)
	var err error
	if v == nil {
		v, err = s.AwaitPlace(p, deadline)
	}
	if err == nil {
		s.KeepFor(o, v)
	}
	s.table.Unpin(o)
	s.table.CarryOut()
	return v, err
}

// Near makes the table hold a view of a stored object, unless it holds one already. It
// gives up when the context ends.
func (s *Store) Near(ctx context.Context, o *refs.Object) error {
	if s.Has(o.ID) {
		return nil
	}
	s.table.PinHere(o)
	p := s.Ask(o.ID)
	s.pause(p.Done(), ctx.Done(), time.Time{})
	v, err := s.Take(p)
	switch {
	case err == nil: // perhaps as the context ended
		s.KeepFor(o, v)
		s.Unhold(v)
	case errors.Is(err, localstore.ErrNoAnswer):
		err = ctx.Err()
	}
	s.table.Unpin(o)
	s.table.CarryOut()
	return err
}

// AwaitBatch pins as many ready objects of a list as possible by one question, and tells
// the store that the program takes them next. Places that come late are pinned all the same.
func (s *Store) AwaitBatch(objs []*refs.Object, deadline time.Time) {
	if asked := s.PinBatch(objs); len(asked) > 0 {
		end := until(deadline)
		for _, b := range asked {
			if !s.pause(b.Done(), nil, end) {
				break
			}
		}
	}
	s.Expect(objs)
}

// IsLost reports whether err says that the store has no copy.
func IsLost(err error) bool { return err != nil && fault.CodeOf(err) == fault.ObjectLost }
