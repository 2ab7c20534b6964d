package localstore

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A caller that asks for a place which somebody asks for already joins that question, and each caller gets a hold.
func TestAsk_TwoCallers_OneQuestionAndTwoHolds(t *testing.T) {
	n := newNode(t, false)
	id := n.stored(100).ID
	a, b := n.s.Ask(id), n.s.Ask(id)
	if a != b || len(n.pins) != 1 {
		t.Fatalf("%d questions", len(n.pins))
	}
	n.answer(place(1), nil)
	v := n.take(a)
	if v != n.take(b) || v.holds != 2 || n.s.Count().Pinnings != 0 {
		t.Errorf("%d holds; %+v", v.holds, n.s.Count())
	}
	if again, p := n.s.Pin(id); again != v || p != nil || v.holds != 3 {
		t.Errorf("a later caller gets %+v and %v; %d holds", again, p, v.holds)
	}
	for left := 2; left >= 0; left-- {
		if n.s.Unhold(v); n.s.Has(id) != (left > 0) {
			t.Errorf("with %d holds the object is mapped: %v", left, n.s.Has(id))
		}
	}
	if n.pinCount() != 0 {
		t.Error("it stays pinned")
	}
}

// Callers that give up get no hold. When all have, the answer pins nothing.
func TestTake_CallersGaveUp_ThePinIsGivenBackWithTheLast(t *testing.T) {
	n := newNode(t, false)
	id := n.stored(100).ID
	a, b := n.s.Ask(id), n.s.Ask(id)
	if v, err := n.s.Take(a); v != nil || !errors.Is(err, ErrNoAnswer) {
		t.Fatal(v, err)
	}
	n.answer(place(1), nil)
	v := n.take(b)
	if v.holds != 1 {
		t.Errorf("%d holds, want that of the caller that waited", v.holds)
	}
	n.s.Unhold(v)

	c := n.s.Ask(id)
	_, _ = n.s.Take(c)
	n.answer(place(1), nil)
	if n.pinCount() != 0 || n.s.Count() != (Counts{}) {
		t.Errorf("%d pins, %+v", n.pinCount(), n.s.Count())
	}
}

// What the daemon refuses is told with the object's name. It has pinned nothing, so nothing is unpinned.
func TestPlaced_DaemonRefuses_CallersAreTold(t *testing.T) {
	n := newNode(t, false)
	id := n.stored(100).ID
	p := n.s.Ask(id)
	n.answer(wire.ObjPlace{}, errStore)
	if v, err := n.s.Take(p); v != nil || !errors.Is(err, errStore) || err.Error() != "get object "+id.String()+": the store says no" {
		t.Errorf("%v, %v", v, err)
	}
	if len(n.unpinned) != 0 || n.s.Count() != (Counts{}) {
		t.Errorf("%d are unpinned, %+v", len(n.unpinned), n.s.Count())
	}
}

// An object in a file is mapped from there. A file that cannot be mapped is unpinned.
func TestPlaced_InAFile_IsMappedOrUnpinned(t *testing.T) {
	n := newNode(t, true)
	a, b := foreign(1), foreign(2)
	p, q := n.s.Ask(a), n.s.Ask(b)
	at := wire.ObjPlace{Path: spilledFile(t, 5000), Size: 5000}
	n.answer(at, nil)
	n.answer(at, nil)
	if len(n.opening) != 2 || n.opening[0].p != p {
		t.Fatalf("%d files are opened", len(n.opening))
	}
	file, err := store.MapFile(at.Path, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	n.s.Opened(p, at, file, nil)
	n.s.Opened(q, at, nil, os.ErrNotExist)
	v := n.take(p)
	if b, number, err := n.s.Open(v); len(b) != 5000 || number == 0 || err != nil {
		t.Errorf("%d bytes, view %d, %v", len(b), number, err)
	}
	if v, err := n.s.Take(q); v != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, %v", v, err)
	}
	expectIDs(t, "unpinned", n.unpinned, []ids.Object{b})
	if !mapsFile(t, at.Path) {
		t.Error("the file is not mapped while the program looks at it")
	}
	if n.s.Drop(v.n); n.pinCount() != 0 || mapsFile(t, at.Path) { // in a worker, too: a spilled object is better brought back
		t.Error("a view of a file stays when nobody looks at it")
	}
}

// Answers that come after the session's end pin nothing, and say why the session ended.
func TestPlaced_SessionHasEnded_NothingStaysPinned(t *testing.T) {
	n := newNode(t, true)
	ended := errors.New("the session ended")
	p, q, r := n.s.Ask(foreign(1)), n.s.Ask(foreign(2)), n.s.Ask(foreign(3))
	at := wire.ObjPlace{Path: spilledFile(t, 100), Size: 100}
	n.answer(at, nil) // its file is being opened
	file, err := store.MapFile(at.Path, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	n.s.End(ended)
	n.s.Opened(p, at, file, nil)
	n.answer(at, nil)
	n.answer(place(3), nil)
	for _, x := range []*Pinning{p, q, r} {
		if v, err := n.s.Take(x); v != nil || !errors.Is(err, ended) {
			t.Errorf("%v, %v", v, err)
		}
	}
	if mapsFile(t, at.Path) {
		t.Error("a file stays mapped")
	}
	if n.pinCount() != 0 || len(n.opening) != 1 {
		t.Errorf("%d pins, %d files were opened", n.pinCount(), len(n.opening))
	}
}

// A view whose place is outside the arena cannot be read. The caller keeps its hold.
func TestOpen_PlaceOutsideTheArena_IsAnError(t *testing.T) {
	n := newNode(t, false)
	p := n.s.Ask(foreign(1))
	n.answer(wire.ObjPlace{Offset: arenaSize, Size: 1}, nil)
	v := n.take(p)
	if b, number, err := n.s.Open(v); b != nil || number != 0 || err == nil || v.inUse != 0 || v.holds != 1 {
		t.Errorf("%v, %d, %v; %d holds", b, number, err, v.holds)
	}
}

// The table keeps the view of a value for the next get, unless the owner has freed the value meanwhile.
func TestKeepFor_FreedWhileItsFileIsOpened_IsNotKept(t *testing.T) {
	for _, freed := range []bool{false, true} {
		n := newNode(t, true)
		o := n.borrowed(1)
		p := n.s.Ask(o.ID)
		if freed {
			n.s.ValueFreed(o.ID)
		}
		n.answer(place(1), nil)
		v := n.take(p)
		n.s.KeepFor(o, v)
		n.s.KeepFor(o, v) // once
		if kept := o.Copy() != nil; kept == freed || v.holds != 1+map[bool]int{true: 1}[kept] {
			t.Errorf("freed %v: kept %v, %d holds", freed, kept, v.holds)
		}
		if n.s.Release(v); n.s.Has(o.ID) == freed {
			t.Errorf("freed %v: it is mapped: %v", freed, n.s.Has(o.ID))
		}
	}
}

// When somebody needs the room, what the program looks at stays and all else goes.
func TestUnpinUnused_OnlyWhatNobodyLooksAt(t *testing.T) {
	n := newNode(t, true)
	seen, kept, idle := n.borrowed(1), n.borrowed(2), foreign(3)
	for _, o := range []ids.Object{seen.ID, kept.ID} {
		v := n.view(o)
		n.s.KeepFor(n.table.Find(o), v)
		if _, _, err := n.s.Open(v); err != nil {
			t.Fatal(err)
		}
	}
	n.s.Drop(ViewOf(kept).n)
	n.s.Release(n.view(idle))
	if c := n.s.Count(); c != (Counts{Views: 3, Mapped: 3, Idle: 1, InUse: 1}) {
		t.Fatalf("%+v", c)
	}
	n.s.UnpinUnused()
	if ViewOf(seen) == nil || kept.Copy() != nil || n.s.Has(kept.ID) || n.s.Has(idle) || n.pinCount() != 1 {
		t.Errorf("%+v; %d pins", n.s.Count(), n.pinCount())
	}
	n.s.Drop(ViewOf(seen).n)
	if n.s.UnpinUnused(); n.pinCount() != 0 {
		t.Error("what the program looks at no more stays")
	}
}

// A process keeps the pages of what somebody in it looks at, and no others of the arena.
func TestLookedAt_OnlyWhatSomebodyHoldsInTheArena(t *testing.T) {
	n := newNode(t, true)
	held := n.view(foreign(200))
	n.s.Release(n.view(foreign(2))) // idle
	spare, _ := n.put(ReuseFrom)
	n.letGo(spare)
	at := wire.ObjPlace{Path: spilledFile(t, 100), Size: 100}
	p := n.s.Ask(foreign(3))
	n.answer(at, nil)
	file, err := store.MapFile(at.Path, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	n.s.Opened(p, at, file, nil)
	if got := n.s.LookedAt(); len(got) != 1 || got[0] != held.span() {
		t.Errorf("%+v, want %+v", got, held.span())
	}
	n.s.Unhold(n.take(p))
	if n.s.Trim(nil); !bytes.Equal(n.bytesOf(held), make([]byte, 100)) {
		t.Error("trimming changes what is in the arena")
	}
}

func (n *node) bytesOf(v *View) []byte {
	n.t.Helper()
	b, err := n.s.bytes(v)
	if err != nil {
		n.t.Fatal(err)
	}
	return b
}
