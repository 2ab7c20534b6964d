package client

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// handsOver gives an heir n connections.
func handsOver(t *testing.T, h *heir, n int) {
	t.Helper()
	for range n {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		mine, other := os.NewFile(uintptr(pair[0]), "handed over"), os.NewFile(uintptr(pair[1]), "the other end")
		t.Cleanup(func() { mine.Close(); other.Close() })
		h.files = append(h.files, mine)
	}
}

// The calls of a connection to an actor count as calls of the actor, those of a
// lease count for the lease. A lease is given back when its calls have ended.
func TestHeir_Conns_CallsUnderWayAreCounted(t *testing.T) {
	h := heirOf(t, new(will))
	c := h.c
	handsOver(t, h, 2)
	token := ownedBy(c, 1)
	c.table.Install(refs.Known(token, refs.Facts{State: refs.Inline}))
	id := ids.Actor{7}
	a := &actor{id: id, token: c.table.Find(token)}
	c.actors[id] = a
	k := &class{id: 5, paces: make([]pace, 2)}
	c.classes[5] = k
	defer func() {
		delete(c.actors, id)
		delete(c.classes, 5)
	}()
	h.tasks = []*task{{first: 100, seq: 4}, {first: 101, seq: 5}, {first: 102, seq: 6}}
	h.w.Conns = []willConn{
		{Addr: "/actor", ActorID: id[:], Seq: 6, Num: 3, Tasks: []int{1, 2}},
		{Addr: "/worker", LeaseID: 9, Class: 5, Choice: 1, Seq: 4, Tasks: []int{0}},
	}
	if err := h.conns(); err != nil {
		t.Fatal(err)
	}
	l := c.leases[9]
	if l == nil || l.busy != 1 || !l.recall || l.choice != 1 || l.class != k || !slices.Equal(k.leases, []*lease{l}) || l.conn.lease != l || l.conn.peerAddr != "/worker" {
		t.Fatalf("the lease: %+v", l)
	}
	if a.conn == nil || a.conn.actor != a || a.conn.seq != 6 || a.conn.num != 3 || a.conn.peerAddr != "/actor" || a.pending != 2 || a.token.Pins() != 2 {
		t.Fatalf("the actor: %+v", a)
	}
	if c.inflight != 3 {
		t.Errorf("%d calls are under way, want 3", c.inflight)
	}
	for i, o := range []*outConn{l.conn, a.conn, a.conn} {
		if x := h.tasks[i]; x.on != o || o.sent.get(x.seq) != x || (x.actor == a) != (i > 0) {
			t.Errorf("call %d is not on its connection, or not a call of its actor", i)
		}
	}
	delete(c.leases, 9)
	for words, x := range map[string]willConn{
		"actor that was not handed over": {ActorID: make([]byte, ids.ActorSize)},
		"class 6, which was not":         {Class: 6},
		"a lease of choice -1":           {Class: 5, Choice: -1},
		"a lease of choice 2":            {Class: 5, Choice: 2},
		"task 3, of 3":                   {Class: 5, Tasks: []int{3}},
		"task -1, of 3":                  {Class: 5, Tasks: []int{-1}},
	} {
		handsOver(t, h, 1)
		h.w.Conns = []willConn{x}
		if err := h.conns(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
	clear(c.leases)
	c.inflight = 0
	for _, o := range []*outConn{l.conn, a.conn} { // the client's end must not end these calls
		o.sent.takeAll()
		o.actor, o.lease = a, nil
	}
}

// An heir tells owners anew what it borrows from them, except those whose connection it has and that know
// it. What its parent was about to give back is given back before: a reference that was let go of and taken again stays.
func TestHeir_Links_OwnersHearOfWhatIsBorrowed(t *testing.T) {
	for _, known := range []bool{true, false} {
		c := startDaemon(t).driver() // without its lock: what is said is said by goroutines that take it
		h := &heir{c: c, w: new(will)}
		heard := playsOwner(t, h)
		other := ids.NewWorker().Owner()
		a, b, gone := ids.NewObject(1, other, c.info.Job, 1), ids.NewObject(2, other, c.info.Job, 1), ids.NewObject(4, other, c.info.Job, 1)
		mine := ownedBy(c, 3)
		c.mu.Lock()
		for _, id := range []ids.Object{a, b} {
			c.table.Install(refs.Known(id, refs.Facts{OwnerAddr: "/owner", State: refs.Inline}))
		}
		c.table.Install(refs.Known(mine, refs.Facts{State: refs.Inline}))
		h.w.Links = []willLink{{Addr: "/owner", Again: !known, GiveBack: [][]byte{gone[:], a[:]}}}
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

// playsOwner gives an heir a connection to an owner that the test plays. The function that it returns waits until
// the owner has heard n messages, and tells what they say of which objects.
func playsOwner(t *testing.T, h *heir) (heard func(n int) []string) {
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

// Arguments that a worker may not have registered stay pinned for an heir, too.
func TestHeir_Settlings_ArgumentsStayUntilTheWorkerIsHeard(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	id := putBytes(t, c, 10, 1)
	h := &heir{c: c, w: &will{Settlings: []willSettling{{Addr: d.dir + "/ended.sock", Objects: [][]byte{id[:]}}}}}
	c.mu.Lock()
	if err := h.results(); err != nil {
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
