package daemon_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// joined are two nodes whose object stores a played network joins.
func joined(t *testing.T, arena uint64) (n *play.Network, a, b *play.Session) {
	t.Helper()
	n = new(play.Network)
	change := func(o *daemon.Options) { o.ArenaBytes = arena }
	return n, n.JoinWith(t, nodeA, 1, change), n.JoinWith(t, nodeB, 1, change)
}

// bytesOf is the memory of an object in the store of a driver's node.
func bytesOf(t *testing.T, d *play.Driver, at wire.ObjPlace) []byte {
	t.Helper()
	if at.Path != "" {
		t.Fatalf("the object is in a file: %+v", at)
	}
	return d.Arena[at.Offset : at.Offset+at.Size]
}

func fill(b []byte, seed byte) {
	for i := 0; i < len(b); i += 4099 {
		b[i] = seed + byte(i>>8)
	}
}

// pinned pins an object that must be there.
func pinned(t *testing.T, d *play.Driver, id ids.Object) []byte {
	t.Helper()
	at, err := d.Pin(id)
	if err != nil {
		t.Fatal(err)
	}
	return bytesOf(t, d, at)
}

// remains waits until the store of a node has so many objects, and no table has an entry of another one.
func remains(t *testing.T, s *play.Session, objects int) {
	t.Helper()
	tool := s.Tool()
	play.Eventually(t, "only so many objects remain", func() bool {
		n := counts(t, s)
		left := n["n_remote_objects"] + n["n_held_objects"] + n["n_pulls"] + n["n_object_asks"]
		return tool.Stats().Objects == objects && (objects > 0 || left == 0)
	})
}

// An argument and a result of 100 MiB each cross the border between two nodes.
func TestElsewhere_100MiB_BothWays(t *testing.T) {
	const size = 100 << 20
	n, a, b := joined(t, 250<<20)
	d, other := a.Driver(nil), b.Driver(nil)
	argument := d.Object()
	at, err := d.Create(argument, size)
	if err != nil {
		t.Fatal(err)
	}
	fill(bytesOf(t, d, at), 1)
	d.Seal(argument)
	if !bytes.Equal(pinned(t, other, argument), bytesOf(t, d, at)) {
		t.Error("the argument has other bytes")
	}
	h := visits(d, nil).Leased(1)
	result := ids.NewObject(77, d.Owner(), ids.Job(d.Job.JobID), 1)
	if got := h.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: result[:], Size: size}); got != "<nil>" {
		t.Fatal(got)
	}
	n.Handled(t, nodeB, nodeA)
	got := make(chan error, 1)
	d.Peer.Go(wire.TObjPin, wire.ObjPin{ObjectID: result[:]}, func(m *wire.Message, err error) {
		if err == nil {
			err = m.Decode(&at)
		}
		got <- err
	})
	var lacks wire.ObjMissing
	d.Call(wire.TObjCheck, wire.ObjRefs{ObjectIDs: [][]byte{result[:], argument[:]}}, &lacks)
	select {
	case err := <-got:
		t.Fatalf("the result is there before it is written: %v", err)
	default:
	}
	if len(lacks.ObjectIDs) != 0 {
		t.Error("an object that is being written elsewhere is missing")
	}
	h.Says("push", wire.TObjSeal, wire.ObjRef{ObjectID: result[:]})
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(play.Limit):
		t.Fatal("the result does not come")
	}
	if !bytes.Equal(bytesOf(t, d, at), pinned(t, other, result)) {
		t.Error("the result has other bytes")
	}
	other.Unpin(argument)
	other.Unpin(result)
	d.Unpin(result)
	d.Free(argument, result)
	remains(t, a, 0)
	remains(t, b, 0)
}

// What is freed while another node pulls it goes on both nodes.
func TestElsewhere_FreedWhilePulled_GoesEverywhere(t *testing.T) {
	_, a, b := joined(t, 100<<20)
	d, other := a.Driver(nil), b.Driver(nil)
	for i := range 8 {
		id := d.Put(40 << 20)
		got := make(chan error, 1)
		other.Peer.Go(wire.TObjPin, wire.ObjPin{ObjectID: id[:]}, func(_ *wire.Message, err error) { got <- err })
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // at any moment of the pull
		d.Free(id)
		if err := <-got; err == nil {
			other.Unpin(id)
		} else if fault.CodeOf(err) != fault.ObjectLost {
			t.Errorf("got %v", err)
		}
		remains(t, a, 0)
		remains(t, b, 0)
	}
}

// The end of an owner frees what it owned on all nodes; the death of its node does, too.
func TestElsewhere_OwnerEnds_ItsObjectsGo(t *testing.T) {
	n, a, b := joined(t, 100<<20)
	d, other := a.Driver(nil), b.Driver(nil)
	one := d.Put(1 << 20)
	pinned(t, other, one)
	other.Unpin(one)
	d.Peer.Close()
	remains(t, a, 0)
	remains(t, b, 0)
	play.WantCode(t, second(other.Pin(one)), fault.ObjectLost, "no node has a copy")
	last := a.Driver(nil)
	two := last.Put(1 << 20)
	pinned(t, other, two)
	n.Dies(nodeA)
	other.Unpin(two)
	remains(t, b, 0)
	play.WantCode(t, second(other.Pin(two)), fault.OwnerDied, "the node with number 7, on which its owner ran, is dead")
	var lacks wire.ObjMissing
	other.Call(wire.TObjCheck, wire.ObjRefs{ObjectIDs: [][]byte{two[:]}}, &lacks)
	if len(lacks.ObjectIDs) != 1 {
		t.Error("an object of a dead node is not missing")
	}
}

func second[T any](_ T, err error) error { return err }

// A put that takes the place of a freed object frees what other nodes have of that one.
func TestElsewhere_PlaceIsReused_ReplicaGoes(t *testing.T) {
	_, a, b := joined(t, 100<<20)
	d, other := a.Driver(nil), b.Driver(nil)
	old, next := d.Object(), d.Object()
	if _, err := d.Create(old, 2<<20); err != nil {
		t.Fatal(err)
	}
	d.Push(wire.TObjSealed, wire.ObjRef{ObjectID: old[:]})
	pinned(t, other, old)
	other.Unpin(old)
	play.Eventually(t, "the other node has read it", func() bool { return counts(t, a)["n_pulls"]+counts(t, b)["n_pulls"] == 0 })
	reuse := func() string {
		d.Push(wire.TObjReuse, wire.ObjReuse{Old: old[:], ObjectID: next[:], Size: 1 << 20})
		d.Seal(next)
		if _, err := d.Pin(next); err != nil {
			return err.Error()
		}
		return ""
	}
	play.Eventually(t, "the place is taken over", func() bool { return reuse() == "" }) // the other node lets go of it in a moment
	remains(t, b, 0)
	if n := counts(t, a); n["n_remote_objects"]+n["n_held_objects"] != 0 {
		t.Errorf("node A still knows %v", n)
	}
}
