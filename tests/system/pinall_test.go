package system

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

func TestObject_PinMany_ThoseThatCanBeReadAreHeld(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	a, b := s.start(nil), s.start(nil)
	var list [][]byte
	var places []wire.ObjPlace
	var all []ids.Object
	for i := range 4 {
		id := a.object()
		at, err := a.create(id, 200_000)
		if err != nil {
			t.Fatal(err)
		}
		if i != 1 { // that one is still being written
			a.seal(id)
		}
		list, places, all = append(list, append([]byte(nil), id[:]...)), append(places, at), append(all, id)
	}
	unknown := a.object()
	list = append(list, unknown[:], list[0])
	a.stats() // the seals have arrived
	var got wire.ObjPlaces
	b.call(wire.TObjPins, wire.ObjRefs{ObjectIDs: list}, &got)
	want := []uint32{0, 2, 3, 5} // one of them twice
	if len(got.Which) != len(want) || len(got.Offsets) != len(want) || len(got.Sizes) != len(want) {
		t.Fatalf("%+v", got)
	}
	for k, i := range want {
		if got.Which[k] != i || got.Offsets[k] != places[i%5].Offset || got.Sizes[k] != 200_000 {
			t.Errorf("%d: %+v", k, got)
		}
	}
	a.free(all[0])
	if st := a.stats(); st.Pinned != 3 || st.Objects != 4 {
		t.Errorf("%+v: what is pinned must stay", st)
	}
	b.unpin(all[0]) // asked for twice, held once
	b.info()
	if st := a.stats(); st.Pinned != 2 || st.Objects != 3 {
		t.Errorf("%+v", st)
	}

	short := wire.ObjRefs{ObjectIDs: [][]byte{list[2], []byte("short")}}
	b.unpin(all[2])
	wantCode(t, b.try(wire.TObjPins, short, nil), fault.BadRequest, "object id")
	wantCode(t, b.try(wire.TObjPins, "nonsense", nil), fault.BadRequest, "")
	wantCode(t, b.try(wire.TObjPins, wire.ObjRefs{ObjectIDs: make([][]byte, 10_001)}, nil), fault.BadRequest, "at most 10000")
	if st := a.stats(); st.Pinned != 1 {
		t.Errorf("%+v: what was refused holds nothing", st)
	}
}
