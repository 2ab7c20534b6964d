package client

import (
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/execute"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// holdsFor makes the worker hold an object of its own for a caller, as part of
// an answer. It returns the caller's connection, and whether the object is there.
func holdsFor(t *testing.T, w *Client, who ids.Owner, addr string) (*execute.Caller, func() bool) {
	t.Helper()
	id := putBytes(t, w, 10, 1)
	w.mu.Lock()
	o := w.table.Find(id)
	w.table.Pin(o)
	w.hold(who, ids.Task{1}, []*refs.Object{o})
	w.mu.Unlock()
	w.Release(Drop{Object: id})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exec.AddCaller(new(fakePipe), &wire.Hello{OwnerID: who[:], Addr: addr}, -1), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.takeDrops()
		return w.table.Find(id) != nil
	}
}

func breaks(w *Client, in *execute.Caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in.Gone(nil)
}

func TestHeld_CallerEndedWithoutAControlConnection_LetGo(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	in, there := holdsFor(t, w, ids.Owner{7}, filepath.Join(d.dir, "p", "none.sock"))
	if !there() {
		t.Fatal("the object is gone before the caller is")
	}
	breaks(w, in)
	d.eventually("the object is let go of", func() bool { return !there() })
}

func TestHeld_CallerLivesWithoutItsTaskSocket_KeptUntilItsEnd(t *testing.T) {
	d := startDaemon(t)
	w := d.worker(echo)
	c := d.driver()
	in, there := holdsFor(t, w, c.self, c.info.Addr)
	breaks(w, in)
	linked := func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.links.Find(c.info.Addr) != nil && w.links.Quiet()
	}
	d.eventually("the worker is connected to its caller", linked)
	if !there() {
		t.Error("the object is let go of although its caller lives")
	}
	c.Close(0)
	d.eventually("the object is let go of", func() bool { return !there() })
}
