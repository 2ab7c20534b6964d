package nodestore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A place in a file is read from there; one that cannot be mapped is unpinned, and the answer says which object it was.
func TestAwaitArgument_InAFile_IsMappedOrUnpinned(t *testing.T) {
	n := newNode(t, Options{})
	path := filepath.Join(t.TempDir(), "spilled")
	if err := os.WriteFile(path, []byte("....value"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := wire.ObjPlace{Path: path, Offset: 4, Size: 5}
	n.on(wire.TObjPin, func(m *wire.Message) { _ = m.Reply(at) })
	here, gone := n.id(70), n.id(71)
	n.mu.Lock()
	defer n.mu.Unlock()
	v, err := n.s.AwaitArgument(here, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if b, _, err := n.s.Open(v); err != nil || string(b) != "value" {
		t.Errorf("the file has %q, %v", b, err)
	}
	n.on(wire.TObjPin, func(m *wire.Message) {
		_ = m.Reply(wire.ObjPlace{Path: path + " that is not there", Offset: 4, Size: 5})
	})
	_, err = n.s.AwaitArgument(gone, time.Time{})
	if !errors.Is(err, os.ErrNotExist) || n.s.Has(gone) || n.s.Count().Pinnings != 0 {
		t.Errorf("%v", err)
	}
	if got := n.told(wire.TObjUnpin); !slices.Equal(got, []ids.Object{gone}) {
		t.Errorf("unpinned are %v", got)
	}
}

// A store that says no is told on; it has pinned nothing that would have to be unpinned.
func TestAwaitArgument_StoreRefuses_IsTold(t *testing.T) {
	n := newNode(t, Options{})
	n.on(wire.TObjPin, func(m *wire.Message) { _ = m.Fail(fault.New(fault.ObjectLost, "no copy")) })
	n.mu.Lock()
	defer n.mu.Unlock()
	_, err := n.s.AwaitArgument(n.id(70), time.Time{})
	if !IsLost(err) || IsLost(nil) || IsLost(localstore.ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	if got := n.told(wire.TObjUnpin); got != nil {
		t.Errorf("what was not pinned is unpinned: %v", got)
	}
}

// When all who waited have given up, the answer pins nothing. A wait whose deadline has passed takes a moment all the same.
func TestAwaitArgument_NobodyWaitsAnyMore_IsUnpinned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, Options{})
		questions := make(chan *wire.Message, 1)
		n.on(wire.TObjPin, func(m *wire.Message) { questions <- m })
		id, began := n.id(70), time.Now()
		n.mu.Lock()
		if _, err := n.s.AwaitArgument(id, began.Add(-time.Second)); !errors.Is(err, localstore.ErrNoAnswer) || n.s.Count().Pinnings != 1 {
			t.Fatalf("%v", err)
		}
		n.mu.Unlock()
		if d := time.Since(began); d != patience {
			t.Errorf("it waited for %v", d)
		}
		_ = (<-questions).Reply(wire.ObjPlace{Offset: 4096, Size: 100})
		synctest.Wait()
		if got := n.told(wire.TObjUnpin); !slices.Equal(got, []ids.Object{id}) {
			t.Errorf("unpinned are %v", got)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.s.Count().Pinnings != 0 || n.s.Has(id) {
			t.Error("it is looked at")
		}
	})
}

// A context that ends while an object's place is asked for ends the wait; a place that has come is kept for the object.
func TestNear_ContextEnds_GivesUp(t *testing.T) {
	n := newNode(t, Options{})
	if err := n.s.MapArena(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n.on(wire.TObjPin, func(*wire.Message) { cancel() })
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.table.New(0, 1)
	n.table.PutStored(o, 100, false)
	if err := n.s.Near(ctx, o); !errors.Is(err, context.Canceled) || o.Copy() != nil || o.Pins() != 0 {
		t.Errorf("%v, pinned %d times", err, o.Pins())
	}
	other := n.table.New(0, 1)
	n.table.PutStored(other, 100, false)
	n.on(wire.TObjPin, func(m *wire.Message) { _ = m.Reply(wire.ObjPlace{Offset: 4096, Size: 100}) })
	if err := n.s.Near(t.Context(), other); err != nil || other.Copy() == nil || other.Pins() != 0 {
		t.Errorf("%v, pinned %d times", err, other.Pins())
	}
	n.on(wire.TObjPin, func(*wire.Message) { t.Error("a place that is known is asked for") })
	if err := n.s.Near(t.Context(), other); err != nil {
		t.Error(err)
	}
}

// How long the store's answer is waited for: a moment, and longer for who has the time.
func TestUntil_AMomentOrTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for deadline, want := range map[time.Time]time.Duration{{}: patience, now.Add(-time.Hour): patience, now.Add(time.Hour): time.Hour} {
			if got := until(deadline).Sub(now); got != want {
				t.Errorf("deadline %v: it waits for %v, want %v", deadline, got, want)
			}
		}
	})
}
