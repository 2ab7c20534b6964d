package daemon_test

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestObject_PinMany_ThoseThatCanBeReadAreHeld(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	var list [][]byte
	var places []wire.ObjPlace
	var all []ids.Object
	for i := range 4 {
		id := a.Object()
		at, err := a.Create(id, 200_000)
		if err != nil {
			t.Fatal(err)
		}
		if i != 1 { // that one is still being written
			a.Seal(id)
		}
		list, places, all = append(list, append([]byte(nil), id[:]...)), append(places, at), append(all, id)
	}
	unknown := a.Object()
	list = append(list, unknown[:], list[0])
	a.Stats() // the seals have arrived
	var got wire.ObjPlaces
	b.Call(wire.TObjPins, wire.ObjRefs{ObjectIDs: list}, &got)
	want := []uint32{0, 2, 3, 5} // one of them twice
	if len(got.Which) != len(want) || len(got.Offsets) != len(want) || len(got.Sizes) != len(want) {
		t.Fatalf("%+v", got)
	}
	for k, i := range want {
		if got.Which[k] != i || got.Offsets[k] != places[i%5].Offset || got.Sizes[k] != 200_000 {
			t.Errorf("%d: %+v", k, got)
		}
	}
	a.Free(all[0])
	if st := a.Stats(); st.Pinned != 3 || st.Objects != 4 {
		t.Errorf("%+v: what is pinned must stay", st)
	}
	b.Unpin(all[0]) // asked for twice, held once
	b.Info()
	if st := a.Stats(); st.Pinned != 2 || st.Objects != 3 {
		t.Errorf("%+v", st)
	}

	short := wire.ObjRefs{ObjectIDs: [][]byte{list[2], []byte("short")}}
	b.Unpin(all[2])
	play.WantCode(t, b.Try(wire.TObjPins, short, nil), fault.BadRequest, "object id")
	play.WantCode(t, b.Try(wire.TObjPins, "nonsense", nil), fault.BadRequest, "")
	play.WantCode(t, b.Try(wire.TObjPins, wire.ObjRefs{ObjectIDs: make([][]byte, 10_001)}, nil), fault.BadRequest, "at most 10000")
	if st := a.Stats(); st.Pinned != 1 {
		t.Errorf("%+v: what was refused holds nothing", st)
	}
}
