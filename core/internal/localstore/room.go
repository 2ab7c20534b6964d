package localstore

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// AskRoom asks for room for an object. Anew: in place of what an earlier run of the
// object's task has written under this id. It needs no mutex.
func (s *Store) AskRoom(id ids.Object, size int, anew bool) *Room {
	r := &Room{id: id, size: uint64(size), anew: anew, done: make(chan struct{})}
	s.daemon.Create(r)
	return r
}

// Request returns what the daemon is asked.
func (r *Room) Request() *wire.ObjCreate {
	return &wire.ObjCreate{ObjectID: r.id[:], Size: r.size, Anew: r.anew}
}

// Placed takes the daemon's answer to Daemon.Create.
func (r *Room) Placed(at wire.ObjPlace, err error) {
	if err == nil && at.Size < r.size {
		err = fault.New(fault.Internal, "object %s: the store gave %d of %d bytes", r.id, at.Size, r.size)
	}
	r.at, r.err = at, err
	if r.to != nil {
		r.to <- r
		return
	}
	close(r.done)
}

// Done is closed when the answer is there.
func (r *Room) Done() <-chan struct{} { return r.done }

// Place returns the answer.
func (r *Room) Place() (wire.ObjPlace, error) { return r.at, r.err }

// TakeBack gives up a request for which nobody waits any more.
func (s *Store) TakeBack(r *Room) { s.daemon.Free([][]byte{raw(r.id)}) }
