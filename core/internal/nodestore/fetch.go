package nodestore

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Found is a value for the program: an envelope in this process's memory, valid
// while the reference is held, or in the arena, valid while the view is held.
type Found struct {
	Envelope []byte
	View     uint64 // 0: not in the arena. Else the program gives it back once
	IsError  bool
}

// Fetch returns a ready object's value. It waits for the place of a stored copy, and returns
// localstore.ErrNoAnswer when the deadline passes before.
func (s *Store) Fetch(o *refs.Object, deadline time.Time) (Found, error) {
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
		v, err := s.PinStored(o, deadline)
		if err != nil {
			return Found{}, err
		}
		b, n, err := s.Open(v)
		if err != nil {
			s.Unhold(v)
			return Found{}, err
		}
		return Found{Envelope: b, View: n, IsError: o.IsError()}, nil
	}
	return Found{}, fmt.Errorf("object %s is not ready", o.ID)
}

// faultEnvelope returns the envelope of a failed or infeasible object, and keeps it with the object.
func faultEnvelope(o *refs.Object) []byte {
	if o.Value() == nil {
		o.SetFaultEnvelope(store.EncodeFault(o.Fault()))
	}
	return o.Value()
}
