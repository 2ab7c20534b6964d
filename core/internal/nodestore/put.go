package nodestore

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/envelope"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
)

// written is a value as localstore writes it.
func written(v *envelope.Value) localstore.Value {
	return localstore.Value{Format: store.Format(v.Fmt), Meta: v.Meta, Bufs: v.Bufs}
}

// WriteValue writes a value of this size under the given id.
func (s *Store) WriteValue(id ids.Object, v *envelope.Value, size int, how Writing) (err error) {
	s.unlocked(func() { err = s.write(id, v, size, how) })
	return err
}

// write is WriteValue; the mutex is not held.
func (s *Store) write(id ids.Object, v *envelope.Value, size int, how Writing) error {
	at, err := s.create(id, size, how)
	if err != nil {
		return err
	}
	return s.Write(id, at, written(v), false)
}

// WriteResult is WriteValue for a value that an answer will name on another
// socket. The seal has left this process when WriteResult returns: if this process
// is killed right after the answer, the daemon must not take the object for one
// that was never written.
//
// A worker that was killed between its seal and its answer has left an object of
// which nobody was told, and what that object contains may have died with the
// worker. So the run that answers takes its place with an object of its own.
func (s *Store) WriteResult(id ids.Object, v *envelope.Value, size int, how Writing) (err error) {
	how.Anew = true
	s.unlocked(func() {
		if err = s.write(id, v, size, how); err == nil {
			err = s.daemon.Flush(context.Background())
		}
	})
	return err
}

// PutLarge writes a value that the program puts. It may write to the range of the
// program's latest large object, if that has gone.
func (s *Store) PutLarge(id ids.Object, v *envelope.Value, size int) error {
	at, reused, keep := s.Put(id, size)
	var err error
	s.unlocked(func() {
		if !reused {
			at, err = s.create(id, size, Writing{Program: true})
		}
		keep = keep && at.Path == ""
		if err == nil {
			err = s.Write(id, at, written(v), keep)
		}
	})
	if err == nil && keep {
		s.Written(id, at, size)
	}
	return err
}

// AwaitPromotion moves small values, which must be distinct and pinned, to the arena.
func (s *Store) AwaitPromotion(list []*refs.Object) error {
	if err := s.MapArena(); err != nil {
		return err
	}
	p := s.Promote(list)
	s.unlocked(func() {
		for p.Next() {
			p.Write(<-p.Rooms())
		}
	})
	return s.Promoted(p)
}
