package system

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

func (d *driver) create(id ids.Object, size uint64) (wire.ObjPlace, error) {
	var p wire.ObjPlace
	err := d.try(wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size}, &p)
	return p, err
}

func (d *driver) seal(id ids.Object) { d.push(wire.TObjSeal, wire.ObjRef{ObjectID: id[:]}) }

func (d *driver) pin(id ids.Object) (wire.ObjPlace, error) {
	var p wire.ObjPlace
	err := d.try(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, &p)
	return p, err
}

func (d *driver) unpin(id ids.Object) { d.push(wire.TObjUnpin, wire.ObjRef{ObjectID: id[:]}) }

func (d *driver) free(id ids.Object) {
	d.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
}

func (d *driver) stats() (s wire.ObjStats) {
	d.t.Helper()
	d.call(wire.TObjStats, nil, &s)
	return s
}

func wantCode(t *testing.T, err error, c fault.Code, words string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != c || !strings.Contains(f.Message, words) {
		t.Errorf("got %v, want %s with %q", err, c, words)
	}
}

func TestObject_CreateSealPin_BytesAreShared(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	a, b := s.start(nil), s.start(nil)
	id := a.object()
	at, err := a.create(id, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("eagle ray")
	if _, err := unix.Pwrite(a.arena, text, int64(at.Offset)); err != nil {
		t.Fatal(err)
	}
	// A pin waits for the seal.
	got := make(chan wire.ObjPlace, 1)
	b.peer.Go(wire.TObjPin, wire.ObjRef{ObjectID: id[:]}, func(m *wire.Message, err error) {
		var p wire.ObjPlace
		if err == nil {
			_ = m.Decode(&p)
		}
		got <- p
	})
	b.info()
	select {
	case <-got:
		t.Fatal("pinned before the seal")
	default:
	}
	a.seal(id)
	p := <-got
	buf := make([]byte, len(text))
	if _, err := unix.Pread(b.arena, buf, int64(p.Offset)); err != nil || !bytes.Equal(buf, text) || p.Size != 300_000 {
		t.Errorf("%+v: %q, %v", p, buf, err)
	}
	// The owner frees it; it stays until the pin goes.
	a.free(id)
	if st := a.stats(); st.Objects != 1 || st.Pinned != 1 || st.Used != 300_000 {
		t.Errorf("%+v", st)
	}
	b.unpin(id)
	b.info()
	if st := a.stats(); st.Objects != 0 || st.Used != 0 || st.PeakBytes != 300_000 {
		t.Errorf("%+v", st)
	}
	_, err = b.pin(id)
	wantCode(t, err, fault.ObjectLost, "is not in this node's store")
}

func TestObject_Full_SaysHowFull(t *testing.T) {
	off := map[string]any{"automatic_object_spilling_enabled": false}
	s := startSession(t, map[string]any{"num_cpus": 1, "object_store_memory": 100 << 20, "system_config": off})
	d := s.start(nil)
	id := d.object()
	if _, err := d.create(id, 60<<20); err != nil {
		t.Fatal(err)
	}
	_, err := d.create(d.object(), 60<<20)
	wantCode(t, err, fault.StoreFull, "no room for an object of 62914560 bytes: 62914560 of 104857600 bytes are used by 1 objects")
	d.free(id) // given up by its creator
	if _, err := d.create(d.object(), 60<<20); err != nil {
		t.Error(err)
	}
}

func TestObject_CreatorDies_WaitersHear(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 1})
	a, b := s.start(nil), s.start(nil)
	sealed, unsealed := a.object(), a.object()
	for _, id := range []ids.Object{sealed, unsealed} {
		if _, err := a.create(id, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	a.seal(sealed)
	a.info()
	if _, err := b.pin(sealed); err != nil {
		t.Fatal(err)
	}
	lost := make(chan error, 1)
	b.peer.Go(wire.TObjPin, wire.ObjRef{ObjectID: unsealed[:]}, func(_ *wire.Message, err error) { lost <- err })
	b.info()
	a.close()
	wantCode(t, <-lost, fault.ObjectLost, "the process that was writing it died")
	// What the dead owner had sealed stays for who pins it, and then goes.
	if st := b.stats(); st.Objects != 1 || st.Pinned != 1 {
		t.Errorf("%+v", st)
	}
	b.unpin(sealed)
	eventually(t, "the store is empty", func() bool { return b.stats().Objects == 0 })
	_, err := b.create(ids.NewObject(1, a.owner(), ids.Job{}, 0), 10)
	wantCode(t, err, fault.OwnerDied, "its owner is gone")
}

func TestObject_SameIDTwice_IsRefused(t *testing.T) {
	s := startSession(t, map[string]any{"num_cpus": 2})
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 2)
	a, b := d.lease(), d.lease()
	id := ids.NewObject(1, d.owner(), ids.Job(d.job.JobID), 1)
	write := func(h *held, size uint64) string {
		return h.says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size})
	}
	if got := write(a, 1000); got != "<nil>" {
		t.Fatal(got)
	}
	// Another process writes it anew: its first writer is taken for dying.
	if got := write(b, 2000); got != "<nil>" {
		t.Fatal(got)
	}
	b.says("push", wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	if got := write(b, 2000); !strings.Contains(got, "is in the store already") {
		t.Error(got)
	}
	if p, err := d.pin(id); err != nil || p.Size != 2000 {
		t.Errorf("%+v, %v", p, err)
	}
}
