package daemon_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestObject_CreateSealPin_BytesAreShared(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	id := a.Object()
	at, err := a.Create(id, 300_000)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("eagle ray")
	copy(a.Arena[at.Offset:], text)
	// A pin waits for the seal.
	got := make(chan wire.ObjPlace, 1)
	b.Peer.Go(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, func(m *wire.Message, err error) {
		var p wire.ObjPlace
		if err == nil {
			_ = m.Decode(&p)
		}
		got <- p
	})
	b.Info()
	select {
	case <-got:
		t.Fatal("pinned before the seal")
	default:
	}
	a.Seal(id)
	p := <-got
	if got := b.Arena[p.Offset:][:len(text)]; !bytes.Equal(got, text) || p.Size != 300_000 {
		t.Errorf("%+v: %q", p, got)
	}
	// The owner frees it; it stays until the pin goes.
	a.Free(id)
	if st := a.Stats(); st.Objects != 1 || st.Pinned != 1 || st.Used != 300_000 {
		t.Errorf("%+v", st)
	}
	b.Unpin(id)
	b.Info()
	if st := a.Stats(); st.Objects != 0 || st.Used != 0 || st.PeakBytes != 300_000 {
		t.Errorf("%+v", st)
	}
	_, err = b.Pin(id)
	play.WantCode(t, err, fault.ObjectLost, "is not in this node's store")
}

func TestObject_Full_SaysHowFull(t *testing.T) {
	s := play.StartWith(t, 1, func(o *daemon.Options) { o.Spill.Off = true })
	d := s.Driver(nil)
	id := d.Object()
	if _, err := d.Create(id, 60<<20); err != nil {
		t.Fatal(err)
	}
	_, err := d.Create(d.Object(), 60<<20)
	play.WantCode(t, err, fault.StoreFull, "no room for an object of 62914560 bytes: 62914560 of 104857600 bytes are used by 1 objects")
	d.Free(id) // given up by its creator
	if _, err := d.Create(d.Object(), 60<<20); err != nil {
		t.Error(err)
	}
}

func TestObject_CreatorDies_WaitersHear(t *testing.T) {
	s := play.Start(t, 1)
	a, b := s.Driver(nil), s.Driver(nil)
	sealed, unsealed := a.Object(), a.Object()
	for _, id := range []ids.Object{sealed, unsealed} {
		if _, err := a.Create(id, 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	a.Seal(sealed)
	a.Info()
	if _, err := b.Pin(sealed); err != nil {
		t.Fatal(err)
	}
	lost := make(chan error, 1)
	b.Peer.Go(wire.TObjPin, wire.ObjPin{ObjectID: unsealed[:]}, func(_ *wire.Message, err error) { lost <- err })
	b.Info()
	a.Peer.Close()
	play.WantCode(t, <-lost, fault.ObjectLost, "the process that was writing it died")
	// What the dead owner had sealed stays for who pins it, and then goes.
	if st := b.Stats(); st.Objects != 1 || st.Pinned != 1 {
		t.Errorf("%+v", st)
	}
	b.Unpin(sealed)
	play.Eventually(t, "the store is empty", func() bool { return b.Stats().Objects == 0 })
	_, err := b.Create(ids.NewObject(1, a.Owner(), ids.Job{}, 0), 10)
	play.WantCode(t, err, fault.OwnerDied, "its owner is gone")
}

func TestObject_SameIDTwice_IsRefused(t *testing.T) {
	s := play.Start(t, 2)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 2)
	a, b := d.Lease(), d.Lease()
	id := ids.NewObject(1, d.Owner(), ids.Job(d.Job.JobID), 1)
	write := func(h *play.Held, size uint64) string {
		return h.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size})
	}
	if got := write(a, 1000); got != "<nil>" {
		t.Fatal(got)
	}
	// Another process writes it anew: its first writer is taken for dying.
	if got := write(b, 2000); got != "<nil>" {
		t.Fatal(got)
	}
	b.Says("push", wire.TObjSeal, wire.ObjRef{ObjectID: id[:]})
	if got := write(b, 2000); !strings.Contains(got, "is in the store already") {
		t.Error(got)
	}
	if p, err := d.Pin(id); err != nil || p.Size != 2000 {
		t.Errorf("%+v, %v", p, err)
	}
}
