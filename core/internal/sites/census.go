package sites

import (
	"bytes"
	"slices"

	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// maxLooked bounds how many objects are looked at while everybody else waits.
const maxLooked = 200_000

// Sources knows what objects come from.
type Sources interface {
	// AddSource adds the actor whose handle the object is, or the state of the task that is to make it.
	AddSource(h *wire.Held, o *refs.Object)
}

// AddObjects adds to a census what the table holds: how much it is, and the largest objects with where they
// were made and who holds them.
func (t *Texts) AddObjects(c *wire.ProcessCensus, table *refs.Table, limit int, sources Sources) {
	captured, replies := map[*refs.Object]int{}, map[*refs.Object]int{}
	var largest []*refs.Object
	var cut *refs.Object // what comes behind it is not among the largest
	table.Each(func(o *refs.Object) bool {
		c.Looked++
		if o.Owned() {
			c.Bytes += o.Size()
		}
		for _, in := range o.Contained() {
			captured[in]++
		}
		if cut != nil && !before(o, cut) {
			return c.Looked < maxLooked
		}
		if largest = append(largest, o); len(largest) >= 2*limit+1000 { // not all are sorted: that takes long
			sortObjects(largest)
			largest = largest[:limit]
			if limit > 0 {
				cut = largest[limit-1]
			}
		}
		return c.Looked < maxLooked
	})
	table.EachUnconfirmed(func(_ refs.TaskSocket, _ uint64, list []*refs.Object) {
		for _, o := range list {
			replies[o]++
		}
	})
	sortObjects(largest)
	for _, o := range largest[:min(limit, len(largest))] {
		h := t.held(o, captured[o], replies[o])
		sources.AddSource(&h, o)
		c.Objects = append(c.Objects, h)
	}
}

func sortObjects(list []*refs.Object) {
	slices.SortFunc(list, func(a, b *refs.Object) int {
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return 0
	})
}

// before orders objects: larger ones first, and older ones first among equals.
func before(a, b *refs.Object) bool {
	if a.Size() != b.Size() {
		return a.Size() > b.Size()
	}
	return a.ID.Count() < b.ID.Count()
}

// held returns the row of an object. captured is the number of values that contain the object, and replies the number of results with it that wait for a receipt.
func (t *Texts) held(o *refs.Object, captured, replies int) wire.Held {
	h := wire.Held{
		ObjectID: bytes.Clone(o.ID[:]), Owned: o.Owned(), State: stateName(o.State()), Size: int64(o.Size()),
		Local: int(o.Local()), Lineage: int(o.Lineage()), Tasks: int(o.Pins()) - captured - replies, Captured: captured, Replies: replies,
		Site: t.Site(o), Maker: t.Maker(o),
	}
	if !o.State().Ready() || o.State() == refs.Failed {
		h.Size = -1
	}
	if x := o.Copy(); x != nil {
		h.Viewed = x.InUse()
	}
	for _, p := range o.HeldBy() {
		h.Borrowers = append(h.Borrowers, bytes.Clone(p[:]))
	}
	return h
}

func stateName(s refs.State) string {
	switch s {
	case refs.Pending:
		return "pending"
	case refs.Infeasible:
		return "infeasible"
	case refs.Evicted:
		return "evicted"
	case refs.Inline:
		return "inline"
	case refs.Stored:
		return "stored"
	}
	return "failed"
}
