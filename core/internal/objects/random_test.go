package objects

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/spill"
	"github.com/eagleray/eagleray/core/internal/store"
)

// TestObjects_RandomSpilling plays processes against a disk that is slow, out
// of order, full and broken at times, and checks what must hold after each step.
func TestObjects_RandomSpilling(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playSpilling(t, rand.New(rand.NewPCG(seed, 7)), false) })
	}
}

// TestObjects_RandomReplicas does the same where half of the objects are replicas, of which some may not be dropped.
func TestObjects_RandomReplicas(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playSpilling(t, rand.New(rand.NewPCG(seed, 8)), true) })
	}
}

type pinned struct {
	id ids.Object
	at Place
}

func playSpilling(t *testing.T, r *rand.Rand, replicas bool) {
	tb, d := withDisk(8 * mib)
	bad := errors.New("none")
	d.fail = func() error {
		if bad.Error() == "none" || r.IntN(2) == 0 {
			return nil
		}
		return bad
	}
	lossy := r.IntN(4) == 0
	d.lose = func() bool { return lossy && r.IntN(10) == 0 }
	cs := []*proc{{pid: 1}, {pid: 2}, {pid: 3}}
	d.mayDrop = func(ids.Object) bool { return r.IntN(3) > 0 }
	asked, answered := 0, 0
	sealed := map[ids.Object]bool{}
	views := map[*proc][]pinned{}
	var objs []ids.Object
	next := uint64(0)
	for range 800 {
		c := cs[r.IntN(len(cs))]
		var id ids.Object
		if len(objs) > 0 {
			id = objs[r.IntN(len(objs))]
		}
		switch r.IntN(16) {
		case 0, 1, 2, 3:
			next++
			id := owned(byte(c.pid), next)
			size := uint64(1 + r.IntN(mib/2))
			switch r.IntN(12) {
			case 0:
				size = uint64(1 + r.IntN(6*mib))
			case 1:
				size = 9 * mib
			}
			asked++
			tb.Create(c, id, size, func(_ Place, err error) {
				answered++
				if c.gone {
					t.Error("a dead process was answered")
				}
				if code := fault.CodeOf(err); err != nil && code != fault.OutOfDisk && code != fault.StoreFull && code != fault.BadRequest {
					t.Error(err)
				}
				if err == nil {
					objs = append(objs, id)
				}
			})
		case 4, 5, 6:
			switch {
			case !replicas || r.IntN(2) == 0:
				if tb.Seal(c, id) == nil {
					sealed[id] = true
				}
			case tb.SealReplica(c, id) == nil:
				sealed[id] = true
				views[c] = append(views[c], pinned{id, tb.table[id].Place})
			case r.IntN(3) == 0:
				tb.Promote(id)
			}
		case 7, 8, 9:
			asked++
			over := tb.table[id] != nil && tb.table[id].over()
			tb.Pin(c, id, func(at Place, _ uint64, err error) {
				answered++
				if c.gone {
					t.Error("a dead process was answered")
				}
				if over && fault.CodeOf(err) != fault.ObjectLost {
					t.Errorf("a freed object is given to a reader that comes now: %v", err)
				}
				if err == nil {
					views[c] = append(views[c], pinned{id, at})
				} else if code := fault.CodeOf(err); sealed[id] && tb.table[id] != nil && !over && code == fault.ObjectLost && !lossy {
					t.Error(err)
				}
			})
		case 10, 11:
			if v := views[c]; len(v) > 0 {
				id := v[0].id
				var left []pinned
				for _, x := range v {
					if x.id != id {
						left = append(left, x)
					}
				}
				views[c] = left
				tb.Unpin(c, id)
			}
		case 12:
			if q := tb.byHolder[c]; len(q) > 0 && r.IntN(2) == 0 {
				id = q[r.IntN(len(q))].id // it stops waiting, if it does for a new object
			}
			tb.Free(c, id)
		case 13:
			if len(d.orders) > 0 {
				d.do(r.IntN(len(d.orders)))
			}
		case 14:
			d.pass(time.Duration(r.IntN(2000)) * time.Millisecond)
			bad = []error{errors.New("none"), errors.New("none"), unix.ENOSPC, unix.EIO, spill.ErrStuck}[r.IntN(5)]
		case 15:
			if r.IntN(12) != 0 {
				break
			}
			c.gone = true
			tb.DropHolder(c, ids.Owner{byte(c.pid)})
			delete(views, c)
			next++
			for i := range cs {
				if cs[i] == c {
					cs[i] = &proc{pid: int(4 + next%200)}
				}
			}
		}
		check(t, tb)
		checkLists(t, tb)
		for c, list := range views {
			for _, v := range list {
				o := tb.holders[c].pins[v.id]
				if o == nil || o.Place != v.at || !o.readable() {
					t.Fatalf("object %s moved while it was looked at", v.id)
				}
			}
		}
	}
	d.fail, d.lose = nil, nil
	d.settle()
	for _, c := range cs {
		c.gone = true
		tb.DropHolder(c, ids.Owner{byte(c.pid)})
	}
	for _, id := range objs {
		tb.Free(nil, id)
	}
	d.settle()
	if len(tb.table)+len(tb.holders)+len(tb.owned)+len(tb.at)+tb.pinned+tb.waiting+tb.onDisk+tb.files+len(tb.batches)+len(tb.questions) != 0 || tb.used+tb.onDiskBytes+tb.fileBytes != 0 {
		t.Errorf("left: %+v", tb.named())
	}
	if s := tb.space.(*store.Arena).Stats(); s.Used != 0 || d.copies != 0 || len(d.files) != 0 {
		t.Errorf("left: %d bytes of the arena, %d copies, files %v", s.Used, d.copies, d.files)
	}
	if answered > asked {
		t.Errorf("%d answers to %d questions", answered, asked)
	}
}

// checkLists compares the lists with what should be in them.
func checkLists(t *testing.T, tb *Table) {
	t.Helper()
	listed := map[*object]bool{}
	for _, l := range []*lru{&tb.dirty, &tb.clean, &tb.replicas} {
		bytes := uint64(0)
		var last *object
		for o := l.oldest; o != nil; o = o.newer {
			if o.older != last || o.list != l || (o.disk != nil) != (l == &tb.clean) || o.replica != (l == &tb.replicas) {
				t.Fatalf("object %s is in the wrong list", o.id)
			}
			last = o
			bytes += o.size
			listed[o] = true
		}
		if last != l.newest || bytes != l.bytes {
			t.Fatalf("a list has %d bytes and says %d", bytes, l.bytes)
		}
	}
	away, waiting := 0, 0
	for _, o := range tb.table {
		if idle := o.sealed && o.inArena && o.pins == 0 && o.moving == still && !o.freed; idle != listed[o] {
			t.Fatalf("object %s: idle %v, listed %v", o.id, idle, listed[o])
		}
		if o.evicted {
			away++
		}
		if o.sealed && !o.readable() && o.disk == nil {
			t.Fatalf("object %s is nowhere", o.id)
		}
	}
	for _, q := range tb.byHolder {
		waiting += len(q)
	}
	if away != tb.onDisk || waiting != tb.waiting || len(tb.turns) != len(tb.byHolder) {
		t.Fatalf("%d on disk, not %d; %d wait, not %d", away, tb.onDisk, waiting, tb.waiting)
	}
}
