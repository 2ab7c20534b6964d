package objects

import "testing"

// What the daemon asks about objects: where they are, and who writes them.
func TestQueries_SayWhatTheTableKnows(t *testing.T) {
	tb := tableOf(1 << 20)
	c := &proc{}
	id := owned(1, 1)
	if _, ok := tb.Find(id); ok || tb.Has(id) || tb.Writer(id) != nil {
		t.Error("an object that nobody has made is there")
	}
	if err := create(tb, c, id, 1000); err != nil {
		t.Fatal(err)
	}
	if tb.Writer(id) != Holder(c) || !tb.Has(id) {
		t.Errorf("%v writes it", tb.Writer(id))
	}
	if err := tb.SealPinned(c, id); err != nil {
		t.Fatal(err)
	}
	if w, ok := tb.Find(id); !ok || w != (Whereabouts{"arena", 1000, 1}) || tb.Writer(id) != nil {
		t.Errorf("%+v, %v", w, ok)
	}
	if st := tb.Stats(); st.Capacity != 1<<20 || st.Used != 1000 || st.Peak != 1000 || st.Objects != 1 || st.Pinned != 1 || st.More["waiting"] != 0 {
		t.Errorf("%+v", st)
	}
	if n := tb.Sizes(); n["objects"] != 1 || n["holders"] != 1 || n["object_owners"] != 1 || n["in_arena"] != 1 || n["room_queues"] != 0 {
		t.Errorf("%v", n)
	}
	if tb.UsedBytes() != 1000 {
		t.Errorf("%d bytes are used", tb.UsedBytes())
	}
}
