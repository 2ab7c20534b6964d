package nodestore

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// maxAsked is how many objects one question may name.
const maxAsked = 10_000

// A wait for objects to be here must not be told that an object is ready when the
// store has lost it: a get would have to wait for that object.

// AnyLost asks the store about the first need objects that are ready and that nobody in
// this process looks at. Objects that the store lacks are computed again, and AnyLost
// reports whether there were any. If the store has not answered after a moment, or by the
// deadline if that is later, it counts as having all of them.
func (s *Store) AnyLost(objs []*refs.Object, need int, deadline time.Time) bool {
	var list []*refs.Object
	for _, o := range objs {
		if need <= 0 {
			break
		}
		if !o.State().Ready() {
			continue
		}
		need--
		if localstore.MustFetch(o) {
			list = append(list, o)
		}
	}
	lost := false
	for len(list) > 0 && s.over == nil {
		part := list[:min(len(list), maxAsked)]
		list = list[len(part):]
		q := s.AskCheck(part)
		if !s.pause(q.Done(), nil, until(deadline)) {
			break
		}
		lacks, err := q.Lacks()
		if err != nil {
			break
		}
		for _, raw := range lacks {
			if id, err := ids.ParseObject(raw); err == nil {
				if o := s.table.Find(id); o != nil && localstore.MustFetch(o) {
					s.table.Missed(o)
					lost = lost || !o.State().Ready()
				}
			}
		}
	}
	return lost
}
