package refs

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// Validate refuses a snapshot that no table can have written: with ids that are
// too short or long, states that do not exist, an object twice, or a name of an object
// that the snapshot does not have. A snapshot of another version is refused, too.
func (s *Snapshot) Validate() error {
	if s.Version != SnapshotVersion {
		return fmt.Errorf("the references are a snapshot of version %d, and this process reads version %d", s.Version, SnapshotVersion)
	}
	known := make(map[ids.Object]bool, len(s.Objects))
	for i := range s.Objects {
		id, err := s.Objects[i].validate()
		if err != nil {
			return err
		}
		if known[id] {
			return fmt.Errorf("object %s occurs twice", id)
		}
		known[id] = true
	}
	for i := range s.Objects {
		x := &s.Objects[i]
		if err := allKnown(known, x.Contained); err != nil {
			return fmt.Errorf("what object %x contains: %w", x.ID, err)
		}
	}
	return s.validateHeld(known)
}

// validateHeld validates what is held for other processes.
func (s *Snapshot) validateHeld(known map[ids.Object]bool) error {
	numbers := make(map[uint64]bool, len(s.Results))
	for _, x := range s.Results {
		if len(x.Caller) != ids.OwnerSize {
			return fmt.Errorf("a result that is not confirmed: the id of its caller has %d bytes", len(x.Caller))
		}
		if x.Number == 0 || numbers[x.Number] {
			return fmt.Errorf("a result that is not confirmed has number %d, which no result has or two have", x.Number)
		}
		numbers[x.Number] = true
		if err := allKnown(known, x.Objects); err != nil {
			return fmt.Errorf("a result that is not confirmed: %w", err)
		}
	}
	for _, x := range s.Retained {
		if err := allKnown(known, x.Objects); err != nil {
			return fmt.Errorf("the arguments that are retained for %s: %w", x.Addr, err)
		}
	}
	for _, x := range s.Receipts {
		if x.Number == 0 {
			return fmt.Errorf("a receipt for %s: it names no answer", x.Addr)
		}
	}
	return nil
}

// validate validates what an object says of itself.
func (x *ObjectSnapshot) validate() (ids.Object, error) {
	id, err := ids.ParseObject(x.ID)
	switch {
	case err != nil:
		return id, fmt.Errorf("an object: %w", err)
	case x.State > Failed:
		return id, fmt.Errorf("object %s is in state %d, which does not exist", id, x.State)
	case (x.State == Failed || x.State == Infeasible) && x.Fault == nil:
		return id, fmt.Errorf("object %s has failed for no reason", id)
	case x.Why > Freed:
		return id, fmt.Errorf("object %s cannot be computed again for reason %d, which does not exist", id, x.Why)
	}
	for _, p := range x.HeldBy {
		if len(p) != ids.OwnerSize {
			return id, fmt.Errorf("object %s is borrowed by a process whose id has %d bytes", id, len(p))
		}
	}
	return id, nil
}

// allKnown refuses ids of objects that are not among the known ones.
func allKnown(known map[ids.Object]bool, list [][]byte) error {
	for _, b := range list {
		id, err := ids.ParseObject(b)
		if err != nil {
			return err
		}
		if !known[id] {
			return fmt.Errorf("object %s is not part of the snapshot", id)
		}
	}
	return nil
}
