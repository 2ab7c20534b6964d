package daemon_test

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

func (d *driver) stats() (s wire.ObjStats) {
	d.t.Helper()
	d.call(wire.TObjStats, nil, &s)
	return s
}

func (d *driver) put(size uint64) ids.Object {
	d.t.Helper()
	id := d.object()
	var at wire.ObjPlace
	d.call(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size}, &at)
	if at.Size != size || at.Path != "" {
		d.t.Fatalf("its place is %+v", at)
	}
	d.push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	return id
}

func TestFlow_Object_WrittenPinnedAndFreed(t *testing.T) {
	s := start(t, 1)
	a, b := s.driver(nil), s.driver(nil)
	id := a.put(1 << 20)
	var at wire.ObjPlace
	b.call(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, &at)
	if st := a.stats(); at.Size != 1<<20 || st.Objects != 1 || st.Used != 1<<20 || st.Pinned == 0 {
		t.Fatalf("at %+v, the store is %+v", at, st)
	}
	a.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	if st := a.stats(); st.Used != 1<<20 {
		t.Errorf("what another process looks at is gone: %+v", st)
	}
	b.push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
	eventually(t, "the store is empty", func() bool { st := a.stats(); return st.Used == 0 && st.Pinned == 0 && st.Objects == 0 })
	if st := a.stats(); st.PeakBytes != 1<<20 {
		t.Errorf("the store is %+v", st)
	}
}

// A process has no say over what another one owns.
func TestFlow_Object_OthersMayNotWriteOrFree(t *testing.T) {
	s := start(t, 1)
	a, b := s.driver(nil), s.driver(nil)
	id := a.put(4096)
	b.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	b.stats() // it has been served
	if st := a.stats(); st.Objects != 1 {
		t.Errorf("it is freed by a stranger: %+v", st)
	}
	if err := b.try(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: 10, Anew: true}, nil); err == nil {
		t.Error("it is written by a stranger")
	}
	stranger := ids.NewObject(1, ids.NewWorker().Owner(), ids.JobOf(1), 0)
	if err := a.try(wire.TObjCreate, wire.ObjCreate{ObjectID: stranger[:], Size: 10}, nil); fault.CodeOf(err) != fault.OwnerDied {
		t.Errorf("nobody owns it: %v", err)
	}
}

func TestFlow_Object_OwnerLeaves_ItsObjectsGo(t *testing.T) {
	s := start(t, 1)
	a, b := s.driver(nil), s.driver(nil)
	id := a.put(1 << 20)
	a.peer.Close()
	eventually(t, "the store is empty", func() bool { return b.stats().Used == 0 })
	if err := b.try(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, nil); fault.CodeOf(err) != fault.OwnerDied {
		t.Errorf("got %v", err)
	}
}

// What was asked for before it is there is told when it is; who leaves meanwhile hears nothing.
func TestFlow_Object_AskedForEarly_IsToldWhenSealed(t *testing.T) {
	s := start(t, 1)
	a, b := s.driver(nil), s.driver(nil)
	id := a.object()
	var at wire.ObjPlace
	a.call(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: 4096}, &at)
	got := make(chan error, 1)
	b.peer.Go(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, func(_ *wire.Message, err error) { got <- err })
	b.stats()
	select {
	case err := <-got:
		t.Fatalf("told before it was written: %v", err)
	default:
	}
	a.push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestFlow_KeyValues_AreKeptByNamespace(t *testing.T) {
	s := start(t, 1)
	d := s.driver(nil)
	for _, k := range []string{"aa", "ab", "b"} {
		d.call(wire.TKVPut, wire.KVPut{Namespace: "n", Key: []byte(k), Value: []byte("1" + k)}, nil)
	}
	d.call(wire.TKVPut, wire.KVPut{Namespace: "n", Key: []byte("b"), Value: []byte("2")}, nil)
	var v []byte
	d.call(wire.TKVGet, wire.KVKey{Namespace: "n", Key: []byte("b")}, &v)
	if string(v) != "1b" {
		t.Errorf("what is not to be overwritten is %q", v)
	}
	var n int
	d.call(wire.TKVDel, wire.KVKey{Namespace: "n", Key: []byte("a"), Prefix: true}, &n)
	if n != 2 {
		t.Errorf("%d keys are deleted, want 2", n)
	}
}
