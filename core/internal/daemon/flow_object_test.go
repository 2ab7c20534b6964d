package daemon_test

import (
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestFlow_Object_WrittenPinnedAndFreed(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	id := a.Put(1 << 20)
	var at wire.ObjPlace
	b.Call(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, &at)
	if st := a.Stats(); at.Size != 1<<20 || st.Objects != 1 || st.Used != 1<<20 || st.Pinned == 0 {
		t.Fatalf("at %+v, the store is %+v", at, st)
	}
	a.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	if st := a.Stats(); st.Used != 1<<20 {
		t.Errorf("what another process looks at is gone: %+v", st)
	}
	b.Push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]})
	play.Eventually(t, "the store is empty", func() bool { st := a.Stats(); return st.Used == 0 && st.Pinned == 0 && st.Objects == 0 })
	if st := a.Stats(); st.PeakBytes != 1<<20 {
		t.Errorf("the store is %+v", st)
	}
}

// A process has no say over what another one owns.
func TestFlow_Object_OthersMayNotWriteOrFree(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	id := a.Put(4096)
	b.Push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	b.Stats() // it has been served
	if st := a.Stats(); st.Objects != 1 {
		t.Errorf("it is freed by a stranger: %+v", st)
	}
	if err := b.Try(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: 10, Anew: true}, nil); err == nil {
		t.Error("it is written by a stranger")
	}
	stranger := ids.NewObject(1, ids.NewWorkerOn(play.Number).Owner(), ids.JobOf(1), 0)
	if err := a.Try(wire.TObjCreate, wire.ObjCreate{ObjectID: stranger[:], Size: 10}, nil); fault.CodeOf(err) != fault.OwnerDied {
		t.Errorf("nobody owns it: %v", err)
	}
}

func TestFlow_Object_OwnerLeaves_ItsObjectsGo(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	id := a.Put(1 << 20)
	a.Peer.Close()
	play.Eventually(t, "the store is empty", func() bool { return b.Stats().Used == 0 })
	if err := b.Try(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, nil); fault.CodeOf(err) != fault.OwnerDied {
		t.Errorf("got %v", err)
	}
}

// What was asked for before it is there is told when it is; who leaves meanwhile hears nothing.
func TestFlow_Object_AskedForEarly_IsToldWhenSealed(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	id := a.Object()
	var at wire.ObjPlace
	a.Call(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: 4096}, &at)
	got := make(chan error, 1)
	b.Peer.Go(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, func(_ *wire.Message, err error) { got <- err })
	b.Stats()
	select {
	case err := <-got:
		t.Fatalf("told before it was written: %v", err)
	default:
	}
	a.Push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestFlow_KeyValues_AreKeptByNamespace(t *testing.T) {
	s := play.Start(t, 1)
	d := s.Driver(nil)
	for _, k := range []string{"aa", "ab", "b"} {
		d.Call(wire.TKVPut, wire.KVPut{Namespace: "n", Key: []byte(k), Value: []byte("1" + k)}, nil)
	}
	d.Call(wire.TKVPut, wire.KVPut{Namespace: "n", Key: []byte("b"), Value: []byte("2")}, nil)
	var v []byte
	d.Call(wire.TKVGet, wire.KVKey{Namespace: "n", Key: []byte("b")}, &v)
	if string(v) != "1b" {
		t.Errorf("what is not to be overwritten is %q", v)
	}
	var n int
	d.Call(wire.TKVDel, wire.KVKey{Namespace: "n", Key: []byte("a"), Prefix: true}, &n)
	if n != 2 {
		t.Errorf("%d keys are deleted, want 2", n)
	}
}
