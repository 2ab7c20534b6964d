package localstore

import (
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// Only a list of two or more values that have to be fetched is worth a note.
func TestExpect_FewerThanTwoToFetch_NothingIsExpected(t *testing.T) {
	n := newNode(t, false)
	a, b := n.stored(100), n.stored(100)
	small := n.table.New(0, 1)
	n.table.PutInline(small, []byte("x"), 1)
	list := append(n.list(0, 0), a, small)
	if n.s.Expect(list); n.s.expected != nil {
		t.Errorf("of one value to fetch %d are expected", len(n.s.expected))
	}
	n.s.Expect(append(list, b))
	expectIDs(t, "expected", n.s.expected, []ids.Object{a.ID, b.ID})
}

// Together with a value those that follow it are asked for, each once and in order, as far as
// they fit into a share of the arena. What is gone or at hand is passed over, and a value of
// another list begins nothing.
func TestPinNext_FollowingValues_AsFarAsThereIsRoom(t *testing.T) {
	n := newNode(t, false)
	third := uint64(arenaSize/prefetchShare/3 - 4096)
	list := append(n.list(1, 1<<20), n.list(1, third)...)
	list = append(append(list, n.list(2, 1<<20)...), n.list(3, third)...)
	list = append(list, n.list(2, 1<<20)...)
	gone := list[2].ID
	n.letGo(list[2])
	n.s.KeepFor(list[3], n.view(list[3].ID)) // it is at hand from now on
	n.s.Expect(append(slices.Clone(list[:2]), list[4:8]...))
	n.s.expected = slices.Insert(n.s.expected, 2, gone, list[3].ID)

	n.s.PinNext(list[8])
	expectIDs(t, "for a value of another list", n.asked(), []ids.Object{list[8].ID})
	n.pins = nil

	v, p := n.s.PinNext(list[0])
	if v != nil || p.waiting != 1 {
		t.Fatalf("%+v, %+v", v, p)
	}
	expectIDs(t, "asked for", n.asked(), []ids.Object{list[0].ID, list[1].ID, list[4].ID, list[5].ID})
	if len(n.s.expected) != 7 {
		t.Errorf("%d values are expected, want the 7 that follow", len(n.s.expected))
	}
	n.s.PinNext(list[1])
	expectIDs(t, "when the next one is taken", n.asked()[4:], []ids.Object{list[6].ID})
	for range 5 {
		n.answer(place(1), nil)
	}
	for i, want := range []bool{4: true, 5: true, 6: true} {
		if want && ViewOf(list[i]) == nil {
			t.Errorf("value %d is not kept until it is taken", i)
		}
	}
	n.s.PinNext(list[7])
	if n.s.expected != nil {
		t.Errorf("behind the last one %d are expected", len(n.s.expected))
	}
}

// No more than prefetchMost values are asked for at a time.
func TestPinNext_ManySmallValues_AtMostSoMany(t *testing.T) {
	n := newNode(t, false)
	list := n.list(prefetchMost+5, 100)
	n.s.Expect(list)
	if n.s.PinNext(list[0]); len(n.pins) != prefetchMost+1 {
		t.Errorf("%d are asked for", len(n.pins))
	}
}

// A value that is prefetched and whose last reference goes, or whose owner frees it, does not stay pinned.
func TestPinNext_PrefetchedValueGoesMeanwhile_IsNotKept(t *testing.T) {
	n := newNode(t, false)
	list := n.list(3, 100)
	n.s.Expect(list)
	_, p := n.s.PinNext(list[0])
	n.letGo(list[1])
	n.s.ValueFreed(list[2].ID)
	for range 3 {
		n.answer(place(1), nil)
	}
	if n.pinCount() != 1 || n.s.Count() != (Counts{Views: 1, Mapped: 1}) {
		t.Errorf("%d pins, %+v", n.pinCount(), n.s.Count())
	}
	if n.s.Unhold(n.take(p)); n.pinCount() != 0 {
		t.Error("the first stays")
	}
}
