package refs

import (
	"sync"
	"sync/atomic"
)

// References that come together in one value are a batch: they are counted by
// one call, and each has a bit that the program sets when it lets go of it. The
// table looks at those bits when it is told that there are new ones, so that a
// reference which goes costs the program one write and the table no search.
//
// A batch is what this process's program holds and nothing more: it ends with
// the program, and a process that moves leaves it behind.

// Batch is the program's half of a batch: memory that the program writes and the table reads.
type Batch struct {
	Dead []uint64 // a bit for each reference that the program has let go of
	Told *uint32  // 1 while the program has told of a change that the table has not looked at
	Free func()   // called once, when no bit is looked at any more
}

// batch is a Batch with the table's half.
type batch struct {
	Batch
	table *Table // nil: its session is over
	objs  []*Object
	seen  []uint64 // the bits that were looked at
}

// batches are those of all sessions of the process, because a batch may outlive
// its session. The lock is taken while the session's mutex is held, or without that.
var batches struct {
	sync.Mutex
	last uint64 // number
	m    map[uint64]*batch
}

// ImportBatch makes a batch of a value's references, at a site of the program.
// The number is what drops of the batch say.
func (t *Table) ImportBatch(v *ValueRefs, site uint32, b Batch) (number uint64, err error) {
	if (v.n+63)/64 != len(b.Dead) {
		return 0, errBadRefs // it was written over since the program made its half
	}
	x := &batch{Batch: b, table: t, objs: t.Import(v, site), seen: make([]uint64, len(b.Dead))}
	batches.Lock()
	defer batches.Unlock()
	if batches.m == nil {
		batches.m = map[uint64]*batch{}
	}
	batches.last++
	batches.m[batches.last] = x
	return batches.last, nil
}

// Import makes a reference of each of a value's references, at a site of the program.
func (t *Table) Import(v *ValueRefs, site uint32) []*Object {
	for i, a := range v.addrs {
		if a == t.addr {
			v.addrs[i] = ""
		}
	}
	list := make([]*Object, v.n)
	asked := false
	for i := range list {
		o := t.Borrow(v.id(i), v.addr(i))
		o.local++
		if o.site == 0 && !o.Owned() {
			if !asked {
				site, asked = t.effects.ArrivalSite(site), true
			}
			o.Arrived(site)
		}
		list[i] = o
	}
	t.keepInside(v.raw, list)
	return list
}

// dropFromBatch handles the references that the program has dropped since the last call.
// After the last call the program does not touch the batch any more.
func (t *Table) dropFromBatch(number uint64, last bool) {
	x, ours := findBatch(number, last, t)
	if x == nil {
		return
	}
	if ours {
		// First: what changes after the table has looked is told again.
		atomic.StoreUint32(x.Told, 0)
		x.eachNew(func(o *Object) {
			if t.unregistered > 0 && !o.broughtNothing() {
				t.lateDrops = append(t.lateDrops, Drop{Object: o.ID})
			} else {
				t.Unref(o, 1)
			}
		})
	}
	if last {
		x.Free()
	}
}

// DropOrphanBatch handles a drop of a batch in a process that has no session any more.
func DropOrphanBatch(d Drop) {
	last := d.View == DropLast
	if x, _ := findBatch(d.Object.Count(), last, nil); x != nil && last {
		x.Free()
	}
}

// findBatch returns a batch, nil when there is none, and whether it is the
// table's. It forgets the batch after its last drop.
func findBatch(number uint64, last bool, t *Table) (x *batch, ours bool) {
	batches.Lock()
	defer batches.Unlock()
	x = batches.m[number]
	if last {
		delete(batches.m, number)
	}
	return x, x != nil && t != nil && x.table == t
}

// eachNew calls f with the objects whose bits are new.
func (x *batch) eachNew(f func(*Object)) {
	for i := range x.Dead {
		now := atomic.LoadUint64(&x.Dead[i])
		news := now &^ x.seen[i]
		x.seen[i] = now
		for at := i * 64; news != 0; at, news = at+1, news>>1 {
			if news&1 != 0 {
				f(x.objs[at])
			}
		}
	}
}

// LeaveBatches releases the objects of the table's batches, because its session is over.
func (t *Table) LeaveBatches() {
	batches.Lock()
	defer batches.Unlock()
	for _, x := range batches.m {
		if x.table == t {
			x.table, x.objs = nil, nil
		}
	}
}

// Batches returns how many batches the process has.
func Batches() int {
	batches.Lock()
	defer batches.Unlock()
	return len(batches.m)
}
