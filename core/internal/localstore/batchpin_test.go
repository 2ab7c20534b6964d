package localstore

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// answerBatch answers the oldest question for many: the daemon has these of them in the arena.
func (n *node) answerBatch(which ...uint32) {
	b := n.batches[0]
	n.batches = n.batches[1:]
	var r wire.ObjPlaces
	for _, i := range which {
		n.pinned[ids.Object(b.IDs()[i])]++
		r.Which, r.Offsets, r.Sizes = append(r.Which, i), append(r.Offsets, uint64(i)<<16), append(r.Sizes, 100)
	}
	n.s.PlacedBatch(b, r, nil)
}

// list makes stored objects, each with a reference.
func (n *node) list(count int, size uint64) (list []*refs.Object) {
	for range count {
		list = append(list, n.stored(size))
	}
	return list
}

// A list is asked for by one question for batchMost of its values. What is here already or is being asked for is left out.
func TestPinBatch_LongList_FewQuestions(t *testing.T) {
	n := newNode(t, false)
	list := n.list(batchMost+3, 100)
	here := n.view(list[0].ID)
	n.s.KeepFor(list[0], here)
	n.s.Ask(list[1].ID)
	asked := n.s.PinBatch(append(list, list[5])) // one of them twice
	if len(asked) != 2 || len(asked[0].pinnings) != batchMost || len(asked[1].pinnings) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	if more := n.s.PinBatch(list); more != nil {
		t.Errorf("%d questions for what is being asked for", len(more))
	}
	n.answerBatch(0, 1, 2)
	n.answerBatch(0)
	for _, b := range asked {
		<-b.Done()
	}
	for i, o := range list {
		if got, want := ViewOf(o) != nil, i == 0 || i >= 2 && i <= 4 || i == batchMost+2; got != want {
			t.Errorf("the table has a view of value %d: %v", i, got)
		}
	}
	if n.s.Count().Pinnings != 1 {
		t.Errorf("%+v: want only that of value 1, which was asked for alone", n.s.Count())
	}
}

// A list pins a share of the arena at most, and a large value of it ends the question.
func TestPinBatch_MoreThanItsShare_TheFirstOnes(t *testing.T) {
	n := newNode(t, false)
	list := n.list(5, arenaSize/batchShare/3-1000)
	if asked := n.s.PinBatch(list); len(asked) != 1 || len(asked[0].pinnings) != 3 {
		t.Fatalf("%d questions", len(asked))
	}
}

// A caller that comes for one of the values meanwhile gets it, whether or not the answer has it.
func TestPlacedBatch_CallersCameMeanwhile_EachGetsItsHold(t *testing.T) {
	n := newNode(t, false)
	list := n.list(4, 100)
	n.s.PinBatch(list)
	one, two := n.s.Ask(list[1].ID), n.s.Ask(list[2].ID)
	if len(n.pins) != 0 {
		t.Fatal("a value is asked for twice")
	}
	n.answerBatch(0, 1) // 2 and 3 are on disk
	if v := n.take(one); v.holds != 1 {
		t.Errorf("%d holds", v.holds)
	}
	expectIDs(t, "asked for alone", n.asked(), []ids.Object{list[2].ID})
	n.answer(place(2), nil)
	if v := n.take(two); v.holds != 1 {
		t.Errorf("%d holds", v.holds)
	}
	if n.s.Count().Pinnings != 0 || n.s.Has(list[3].ID) {
		t.Errorf("%+v", n.s.Count())
	}
}

// Of an answer that names too much, something twice, or nothing, only what was asked for is taken.
func TestPlacedBatch_WrongAnswer_IsHarmless(t *testing.T) {
	for what, x := range map[string]struct {
		r     wire.ObjPlaces
		err   error
		views int
	}{
		"a place beyond the list": {wire.ObjPlaces{Which: []uint32{0, 9}, Offsets: []uint64{0, 0}, Sizes: []uint64{100, 100}}, nil, 1},
		"a place twice":           {wire.ObjPlaces{Which: []uint32{1, 1}, Offsets: []uint64{0, 0}, Sizes: []uint64{100, 100}}, nil, 1},
		"lists that do not match": {wire.ObjPlaces{Which: []uint32{0}, Offsets: nil, Sizes: []uint64{100}}, nil, 0},
		"an error":                {wire.ObjPlaces{Which: []uint32{0}, Offsets: []uint64{0}, Sizes: []uint64{100}}, errStore, 0},
	} {
		n := newNode(t, false)
		list := n.list(2, 100)
		b := n.s.PinBatch(list)[0]
		n.s.PlacedBatch(b, x.r, x.err)
		<-b.Done()
		if c := n.s.Count(); c != (Counts{Views: x.views, Mapped: x.views}) {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

// A value whose last reference goes while the list is asked for does not stay pinned.
func TestPlacedBatch_ValueIsLetGoMeanwhile_IsNotKept(t *testing.T) {
	n := newNode(t, false)
	list := n.list(2, 100)
	n.s.PinBatch(list)
	n.letGo(list[0])
	n.answerBatch(0, 1)
	if n.s.Has(list[0].ID) || !n.s.Has(list[1].ID) || n.pinCount() != 1 {
		t.Errorf("%+v, %d pins", n.s.Count(), n.pinCount())
	}
	if n.letGo(list[1]); n.pinCount() != 0 {
		t.Error("what nobody took stays pinned when its reference goes")
	}
}
