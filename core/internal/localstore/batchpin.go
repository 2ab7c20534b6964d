package localstore

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The values of a list that lie in the arena are pinned by one question to the
// daemon for thousands of them, instead of one question for each. Until the program
// takes them only the table holds them, and it gives them back when somebody needs
// the room. Values on disk, or that are being written, are not among them: they are
// asked for when they are taken, see prefetch.go.

const (
	batchMost  = 2000 // objects in a question
	batchShare = 2    // a list may pin one of so many bytes of the arena
)

// IDs returns the objects that are asked for, as a message has them.
func (b *Batch) IDs() [][]byte {
	list := make([][]byte, len(b.pinnings))
	for i, p := range b.pinnings {
		list[i] = p.id[:]
	}
	return list
}

// Done is closed when the answer is there.
func (b *Batch) Done() <-chan struct{} { return b.done }

// PinBatch begins to pin as many of the objects as possible for the table, and returns
// the Batch to wait for. The table gets the pins also if the caller does not wait.
func (s *Store) PinBatch(objs []*refs.Object) (asked []*Batch) {
	var list []*Pinning
	room := s.mapping.Size() / batchShare
	for i, o := range objs {
		if !MustFetch(o) || s.mapped[o.ID] != nil || s.pinnings[o.ID] != nil {
			continue
		}
		if o.Size() > room {
			break
		}
		room -= o.Size()
		if list == nil {
			list = make([]*Pinning, 0, min(len(objs)-i, batchMost))
		}
		p := s.begin(o.ID)
		p.prefetched = true
		if list = append(list, p); len(list) == batchMost {
			asked, list = append(asked, s.askBatch(list)), nil
		}
	}
	if len(list) > 0 {
		asked = append(asked, s.askBatch(list))
	}
	return asked
}

func (s *Store) askBatch(list []*Pinning) *Batch {
	b := &Batch{pinnings: list, done: make(chan struct{})}
	s.daemon.Pins(b)
	return b
}

// PlacedBatch takes the daemon's answer to Daemon.Pins.
func (s *Store) PlacedBatch(b *Batch, r wire.ObjPlaces, err error) {
	defer close(b.done)
	if err != nil || len(r.Offsets) != len(r.Which) || len(r.Sizes) != len(r.Which) {
		r = wire.ObjPlaces{}
	}
	for k, i := range r.Which {
		if int(i) < len(b.pinnings) && b.pinnings[i] != nil {
			s.finish(b.pinnings[i], wire.ObjPlace{Offset: r.Offsets[k], Size: r.Sizes[k]}, nil, true, nil)
			b.pinnings[i] = nil
		}
	}
	for _, p := range b.pinnings {
		switch {
		case p == nil:
		case p.waiting > 0: // somebody has come for it meanwhile
			s.daemon.Pin(p)
		default:
			delete(s.pinnings, p.id)
		}
	}
}

// idsOf returns the ids of objects as a message has them.
func idsOf(list []*refs.Object) [][]byte {
	all := make([]ids.Object, len(list))
	raws := make([][]byte, len(list))
	for i, o := range list {
		all[i] = o.ID
		raws[i] = all[i][:]
	}
	return raws
}
