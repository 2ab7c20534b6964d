package localstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// node plays the daemon and the clock of a Store. Nothing happens by itself: a test
// answers what was asked, and moves the time.
type node struct {
	t     *testing.T
	s     *Store
	table *refs.Table
	self  ids.Owner

	now    time.Time
	timers []*fakeTimer

	pins     []*Pinning // asked for and not answered
	batches  []*Batch
	opening  []opening
	rooms    []*Room
	checks   []*Check
	kept     bool // the range of the object that went last was kept
	pinned   map[ids.Object]int
	freed    []ids.Object // in their order, as Reuse and Unpin are
	unpinned []ids.Object
	reused   [][2]ids.Object
	sealed   []ids.Object
}

type opening struct {
	p  *Pinning
	at wire.ObjPlace
}

// fakeTimer runs when the test has moved the time beyond at.
type fakeTimer struct {
	n    *node
	at   time.Time
	set  bool
	f    func()
	runs int
}

func (x *fakeTimer) Reset(d time.Duration) bool {
	was := x.set
	x.at, x.set = x.n.now.Add(d), true
	return was
}

func (n *node) Now() time.Time { return n.now }

func (n *node) After(d time.Duration, f func()) Timer {
	x := &fakeTimer{n: n, f: f}
	x.Reset(d)
	n.timers = append(n.timers, x)
	return x
}

// passes moves the time, and runs the timers that are due.
func (n *node) passes(d time.Duration) {
	n.now = n.now.Add(d)
	for _, x := range n.timers {
		if x.set && !x.at.After(n.now) {
			x.set = false
			x.runs++
			x.f()
		}
	}
}

func (n *node) Pin(p *Pinning)                        { n.pins = append(n.pins, p) }
func (n *node) OpenFile(p *Pinning, at wire.ObjPlace) { n.opening = append(n.opening, opening{p, at}) }
func (n *node) Pins(b *Batch)                         { n.batches = append(n.batches, b) }
func (n *node) Create(r *Room)                        { n.rooms = append(n.rooms, r) }
func (n *node) Check(c *Check)                        { n.checks = append(n.checks, c) }
func (n *node) Free(list [][]byte)                    { n.free(list) }
func (n *node) Reuse(old, id ids.Object, size uint64) {
	n.gone(old)
	n.reused = append(n.reused, [2]ids.Object{old, id})
}
func (n *node) Unpin(id ids.Object) { n.gone(id); n.unpinned = append(n.unpinned, id) }
func (n *node) Seal(id ids.Object, pinned bool) error {
	n.sealed = append(n.sealed, id)
	if pinned {
		n.pinned[id]++
	}
	return nil
}

// gone takes a pin back, which there must be.
func (n *node) gone(id ids.Object) {
	n.t.Helper()
	if n.pinned[id]--; n.pinned[id] < 0 {
		n.t.Fatalf("a pin of object %s is given back that the daemon has not given", id)
	}
}

func (n *node) free(list [][]byte) {
	for _, b := range list {
		n.freed = append(n.freed, ids.Object(b))
	}
}

// pinCount counts the pins that the daemon has given and not got back.
func (n *node) pinCount() (sum int) {
	for _, k := range n.pinned {
		sum += k
	}
	return sum
}

// tableEffects are those of the table's effects that these tests cause. Nobody waits for objects in them.
type tableEffects struct {
	refs.Effects
	n *node
}

func (x tableEffects) Needed()                {}
func (x tableEffects) Borrow(*refs.Object)    {}
func (x tableEffects) GiveBack(*refs.Object)  {}
func (x tableEffects) Free(list [][]byte)     { x.n.Free(list) }
func (x tableEffects) CopyLost(id ids.Object) { x.n.s.ValueFreed(id) }
func (x tableEffects) DropCopy(o *refs.Object) bool {
	x.n.kept = x.n.s.ObjectGone(o)
	return x.n.kept
}

const arenaSize = 64 << 20

// newNode makes a Store, of a worker or of another process, with an arena and an empty table.
func newNode(t *testing.T, worker bool) *node {
	t.Helper()
	n := &node{t: t, s: new(Store), self: ids.NewWorkerOn(1).Owner(), now: time.Unix(1e9, 0), pinned: map[ids.Object]int{}}
	n.table = refs.NewTable(n.self, ids.JobOf(1), "/s/own.sock", tableEffects{n: n})
	n.s.Init(Options{Daemon: n, Clock: n, KeepsIdle: worker})
	n.s.Join(n.self, n.table)
	fd, err := store.CreateMemory("localstore", arenaSize)
	if err != nil {
		t.Fatal(err)
	}
	n.s.SetArena(fd, arenaSize)
	if first, err := n.s.MapArena(); !first || err != nil {
		t.Fatal(first, err)
	}
	t.Cleanup(n.s.Close)
	return n
}

// stored makes an object of this process that lies in the store, with one reference.
func (n *node) stored(size uint64) *refs.Object {
	o := n.table.New(0, 1)
	n.table.PutStored(o, size, false)
	return o
}

// borrowed makes a stored object of another process, with one reference.
func (n *node) borrowed(count uint64) *refs.Object {
	o := n.table.Borrow(ids.NewObject(count, ids.Owner{9}, ids.JobOf(1), 0), "/s/other.sock")
	n.table.Ref(o)
	n.table.PutStored(o, 100, false)
	return o
}

// letGo drops the last reference of an object, as the session does.
func (n *node) letGo(o *refs.Object) (kept bool) {
	n.kept = false
	n.table.Unref(o, 1)
	n.table.CarryOut()
	return n.kept
}

// answer answers the oldest question for one place.
func (n *node) answer(at wire.ObjPlace, err error) {
	p := n.pins[0]
	n.pins = n.pins[1:]
	if err == nil {
		n.pinned[p.id]++
	}
	n.s.Placed(p, at, err)
}

// place is a place of the arena.
func place(i uint64) wire.ObjPlace { return wire.ObjPlace{Offset: i << 16, Size: 100} }

// take takes an answer that must be there.
func (n *node) take(p *Pinning) *View {
	n.t.Helper()
	v, err := n.s.Take(p)
	if err != nil {
		n.t.Fatal(err)
	}
	return v
}

// view makes a view of an object, with one hold.
func (n *node) view(id ids.Object) *View {
	n.t.Helper()
	p := n.s.Ask(id)
	n.answer(place(id.Count()), nil)
	return n.take(p)
}

// foreign is the id of another process's object.
func foreign(count uint64) ids.Object { return ids.NewObject(count, ids.Owner{9}, ids.JobOf(1), 0) }

// spilledFile is a file with a value in it.
func spilledFile(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spilled")
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		t.Fatal(err)
	}
	return path
}

// asked are the objects whose places are asked for one by one, in order.
func (n *node) asked() (list []ids.Object) {
	for _, p := range n.pins {
		list = append(list, p.id)
	}
	return list
}

// errStore is an answer of the daemon's.
var errStore = errors.New("the store says no")

// expectIDs compares lists of objects, and says which numbers they have.
func expectIDs(t *testing.T, what string, got, want []ids.Object) {
	t.Helper()
	if !slices.Equal(got, want) {
		numbers := func(list []ids.Object) (s []string) {
			for _, id := range list {
				s = append(s, fmt.Sprint(id.Count()))
			}
			return s
		}
		t.Errorf("%s: %v, want %v", what, numbers(got), numbers(want))
	}
}
