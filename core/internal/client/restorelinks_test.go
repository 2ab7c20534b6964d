package client

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/handover"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A successor registers what it borrows with the owners again, except with those whose connection it has and that know
// all of it. What its predecessor was about to give back is given back before: a reference that was let go of and taken again stays.
func TestSuccessor_Links_OwnersHearOfWhatIsBorrowed(t *testing.T) {
	for _, known := range []bool{true, false} {
		c := startDaemon(t).driver() // without its lock: what is said is said by goroutines that take it
		h := &successor{c: c, snapshot: new(handover.Snapshot)}
		heard := playsOwner(t, h)
		other := ids.NewWorkerOn(fakeNode).Owner()
		a, b, gone := ids.NewObject(1, other, c.info.Job, 1), ids.NewObject(2, other, c.info.Job, 1), ids.NewObject(4, other, c.info.Job, 1)
		mine := ids.NewObject(3, c.self, c.info.Job, 1)
		c.mu.Lock()
		for _, id := range []ids.Object{a, b} {
			c.table.Install(refs.Known(id, refs.Facts{OwnerAddr: "/owner", State: refs.Inline}))
		}
		c.table.Install(refs.Known(mine, refs.Facts{State: refs.Inline}))
		h.snapshot.Links = []handover.Link{{Addr: "/owner", Again: !known, GiveBack: [][]byte{gone[:], a[:]}}}
		if err := h.links(); err != nil {
			t.Fatal(err)
		}
		want := []string{"give back 4 1", "borrow 1 2"}
		if known {
			want = want[:1]
		}
		if c.table.Unregistered() != 2*(len(want)-1) {
			t.Errorf("the owner knows: %v; it is asked to register %d references", known, c.table.Unregistered())
		}
		c.links.Start()
		c.mu.Unlock()
		if got := heard(len(want)); !slices.Equal(got, want) {
			t.Errorf("the owner knows: %v; it hears %q, want %q", known, got, want)
		}
		waitFor(t, "the references are registered", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.table.Unregistered() == 0 })
		letGoOfLinks(c)
	}
}

// playsOwner gives a successor a connection to an owner that the test plays. The function that it returns waits until
// the owner has heard n messages, and tells what they say of which objects.
func playsOwner(t *testing.T, h *successor) (heard func(n int) []string) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine := os.NewFile(uintptr(pair[0]), "handed over")
	t.Cleanup(func() { mine.Close() })
	h.files = append(h.files, mine)
	var mu sync.Mutex
	var list []string
	owner := wire.NewPeer(unixConn(t, pair[1]), func(m *wire.Message) {
		words := map[wire.Type]string{wire.TRefBorrow: "borrow", wire.TRefReturn: "give back"}[m.Type]
		var q wire.ObjRefs
		if err := m.Decode(&q); err != nil {
			t.Error(err)
		}
		var counts []uint64
		for _, raw := range q.ObjectIDs {
			counts = append(counts, ids.Object(raw).Count())
		}
		if m.Type == wire.TRefBorrow {
			slices.Sort(counts) // they come from a table
		}
		for _, n := range counts {
			words += fmt.Sprint(" ", n)
		}
		mu.Lock()
		list = append(list, words)
		mu.Unlock()
		_ = m.Reply(nil)
	}, nil)
	owner.Start()
	t.Cleanup(owner.Close)
	return func(n int) []string {
		t.Helper()
		waitFor(t, "the owner has heard it", func() bool { mu.Lock(); defer mu.Unlock(); return len(list) >= n })
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}

func letGoOfLinks(c *Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.links.Close()
}

// Arguments that a worker may not have registered stay pinned for a successor, too.
func TestSuccessor_Retained_ArgumentsStayUntilTheWorkerIsHeard(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	id := putBytes(t, c, 10, 1)
	h := &successor{c: c, snapshot: new(handover.Snapshot)}
	_, ended, _ := d.stranger()
	h.snapshot.Refs.Retained = []refs.RetainedSnapshot{{Addr: ended, Objects: [][]byte{id[:]}}}
	c.mu.Lock()
	if err := c.table.RestoreHeld(&h.snapshot.Refs); err != nil {
		t.Fatal(err)
	}
	o := c.table.Find(id)
	if len(c.table.Retained()) != 1 || o.Pins() != 1 || c.table.Retained()[0].Pause() < refs.RetainFirst {
		t.Errorf("%d calls are not settled, the argument has %d pins", len(c.table.Retained()), o.Pins())
	}
	c.mu.Unlock()
	waitFor(t, "the worker is found to have ended", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.table.Retained()) == 0 && o.Pins() == 0
	})
	letGo(t, c, id)
}
