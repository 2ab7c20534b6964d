package objects

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// outcome records how a pin was answered.
type outcome struct {
	n    int
	size uint64
	err  error
}

func (o *outcome) done(_ Place, size uint64, err error) { o.n++; o.size, o.err = size, err }

// create creates at once or fails.
func create(t *Table, c *proc, id ids.Object, size uint64) (err error) {
	t.Create(c, id, size, func(_ Place, e error) { err = e })
	return err
}

func owned(o byte, n uint64) ids.Object {
	return ids.NewObject(n, ids.Owner{o}, ids.Job{}, 0)
}

func tableOf(size uint64) *Table { return newTable(store.NewArena(size), size) }

func TestObjects_FreedWhilePinned_StaysUntilUnpin(t *testing.T) {
	tb := tableOf(1 << 20)
	a, b := &proc{}, &proc{}
	id := owned(1, 1)
	if err := create(tb, a, id, 1000); err != nil {
		t.Fatal(err)
	}
	var early outcome
	tb.Pin(b, id, early.done)
	if early.n != 0 {
		t.Fatal("pinned before the seal")
	}
	if err := tb.Seal(b, id); err == nil {
		t.Error("a stranger sealed it")
	}
	if err := tb.Seal(a, id); err != nil {
		t.Fatal(err)
	}
	if early.n != 1 || early.err != nil || early.size != 1000 {
		t.Errorf("%+v", early)
	}
	var again outcome
	tb.Pin(a, id, again.done)
	tb.Pin(a, id, again.done) // one pin per process
	tb.Free(a, id)
	tb.Unpin(b, id)
	tb.Unpin(b, id)
	if len(tb.table) != 1 || again.n != 2 || again.err != nil {
		t.Errorf("gone while pinned: %+v", again)
	}
	var late outcome
	for _, c := range []*proc{a, b, {}} {
		tb.Pin(c, id, late.done)
		if fault.CodeOf(late.err) != fault.ObjectLost {
			t.Errorf("a freed object is given to a reader that comes now: %+v", late)
		}
	}
	tb.Unpin(a, id)
	if len(tb.table) != 0 || tb.used != 0 || tb.pinned != 0 || len(tb.owned) != 0 {
		t.Errorf("left: %d objects, %d bytes", len(tb.table), tb.used)
	}
}

func TestObjects_WaiterGone_IsNotAnswered(t *testing.T) {
	tb := tableOf(1 << 20)
	a, b := &proc{}, &proc{}
	id := owned(1, 1)
	if err := create(tb, a, id, 10); err != nil {
		t.Fatal(err)
	}
	var w outcome
	tb.Pin(b, id, w.done)
	b.gone = true
	tb.DropHolder(b, ids.Owner{2})
	if err := tb.Seal(a, id); err != nil {
		t.Fatal(err)
	}
	if w.n != 0 || tb.pinned != 0 || len(tb.holders) != 1 {
		t.Errorf("answered %d times, %d pinned", w.n, tb.pinned)
	}
}

func TestObjects_Full_NamesTheSizes(t *testing.T) {
	tb := tableOf(1 << 20)
	a := &proc{}
	if err := create(tb, a, owned(1, 1), 1<<19); err != nil {
		t.Fatal(err)
	}
	err := create(tb, a, owned(1, 2), 1<<20)
	if fault.CodeOf(err) != fault.StoreFull {
		t.Errorf("%v", err)
	}
	if err := create(tb, a, owned(1, 3), 1<<63); fault.CodeOf(err) != fault.StoreFull {
		t.Errorf("%v", err)
	}
}

// TestObjects_RandomProcesses_LeakNothing plays processes that create, seal,
// pin, free and die, against what must hold.
func TestObjects_RandomProcesses_LeakNothing(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			tb := tableOf(8 << 20)
			var cs []*proc
			var objs []ids.Object
			asked, answered := 0, 0
			next := uint64(0)
			for range 600 {
				if len(cs) < 2 || r.IntN(40) == 0 {
					next++
					cs = append(cs, &proc{})
					cs[len(cs)-1].pid = int(next)
				}
				c := cs[r.IntN(len(cs))]
				var id ids.Object
				if len(objs) > 0 {
					id = objs[r.IntN(len(objs))]
				}
				switch r.IntN(12) {
				case 0, 1, 2:
					next++
					id = owned(byte(c.pid), next)
					if err := create(tb, c, id, uint64(r.IntN(300_000))); err == nil {
						objs = append(objs, id)
					}
				case 3, 4:
					_ = tb.Seal(c, id)
				case 5, 6:
					asked++
					me := c
					tb.Pin(c, id, func(Place, uint64, error) {
						answered++
						if me.gone {
							t.Error("a dead process was answered")
						}
					})
				case 7, 8:
					tb.Unpin(c, id)
				case 9:
					tb.Free(c, id)
				case 10:
					if len(objs) == 0 {
						break
					}
					_ = create(tb, c, id, 1000) // a retried task
				case 11:
					if r.IntN(6) == 0 {
						c.gone = true
						tb.DropHolder(c, ids.Owner{byte(c.pid)})
						for i := range cs {
							if cs[i] == c {
								cs = append(cs[:i], cs[i+1:]...)
								break
							}
						}
					}
				}
				check(t, tb)
			}
			for _, c := range cs {
				c.gone = true
			}
			for _, c := range cs {
				tb.DropHolder(c, ids.Owner{byte(c.pid)})
			}
			for _, id := range objs {
				tb.Free(nil, id)
			}
			if len(tb.table)+len(tb.holders)+len(tb.owned)+tb.pinned != 0 || tb.used != 0 {
				t.Errorf("left: %d objects, %d holders, %d owners, %d bytes", len(tb.table), len(tb.holders), len(tb.owned), tb.used)
			}
			if s := tb.space.(*store.Arena).Stats(); s.Objects != 0 {
				t.Errorf("the arena still has %d ranges", s.Objects)
			}
			if answered > asked {
				t.Errorf("%d answers to %d questions", answered, asked)
			}
		})
	}
}

func check(t *testing.T, tb *Table) {
	t.Helper()
	pins := make(map[*object]int)
	ranges := make(map[*object]bool)
	for _, h := range tb.holders {
		for _, o := range h.pins {
			pins[o]++
			ranges[o] = true
		}
		for o := range h.creating {
			ranges[o] = true
		}
	}
	used := uint64(0)
	for _, o := range tb.table {
		ranges[o] = true
	}
	for o := range ranges {
		if o.inArena {
			used += o.size
		}
		if o.pins != pins[o] {
			t.Fatalf("object %s counts %d pins, %d processes hold it", o.id, o.pins, pins[o])
		}
	}
	if used != tb.used || len(pins) != tb.pinned {
		t.Fatalf("used %d/%d, pinned %d/%d", used, tb.used, len(pins), tb.pinned)
	}
	for _, o := range tb.table {
		if o.sealed && o.freed && o.pins == 0 && o.moving == still {
			t.Fatalf("object %s should be gone", o.id)
		}
	}
}

// The way of every put through the table makes little garbage: the object and what
// the maps of its owner need.
func TestTable_PutPinnedAndFreed_MakesLittleGarbage(t *testing.T) {
	tb, _ := withDisk(64 * mib)
	c, reader := &proc{}, &proc{}
	n := uint64(0)
	got := testing.AllocsPerRun(1000, func() {
		n++
		id := owned(1, n)
		tb.Create(c, id, 200_000, func(Place, error) {})
		if err := tb.Seal(c, id); err != nil {
			t.Error(err)
		}
		tb.Pin(reader, id, func(Place, uint64, error) {})
		tb.Unpin(reader, id)
		tb.Free(c, id)
	})
	if got > 6 {
		t.Errorf("%v allocations for an object, want at most 6", got)
	}
}
