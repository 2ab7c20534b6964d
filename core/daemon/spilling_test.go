package daemon

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/spill"
	"github.com/eagleray/eagleray/core/store"
)

// fakeDisk is a mover whose orders are carried out when the test says so.
type fakeDisk struct {
	t      *objects
	clock  time.Time
	orders []func()
	wakes  []time.Time
	copies int // on disk
	files  map[string]bool
	made   int
	said   []string
	asked  int

	fail func() error // of writes and files; nil: they work
	lose func() bool  // whether a copy cannot be read
}

type fakeCopy struct {
	d    *fakeDisk
	size uint64
	raw  bool
	gone bool

	cached bool
}

func (c *fakeCopy) Raw() (string, uint64, bool) { return "batch", 64, c.raw }

func (c *fakeCopy) Cached() bool { return c.cached }

func (c *fakeCopy) Size() uint64   { return c.size }
func (c *fakeCopy) Stored() uint64 { return c.size }
func (c *fakeCopy) Release() {
	if c.gone {
		panic("a copy was released twice")
	}
	c.gone = true
	c.d.copies--
}

func withDisk(size uint64) (*objects, *fakeDisk) {
	t := newTable(size)
	d := &fakeDisk{t: t, clock: time.Unix(1000, 0), files: map[string]bool{}}
	t.mover, t.batchBytes, t.ahead, t.grace = d, size/8, size*8/10, 100*time.Millisecond
	return t, d
}

func (d *fakeDisk) now() time.Time            { return d.clock }
func (d *fakeDisk) later(after time.Duration) { d.wakes = append(d.wakes, d.clock.Add(after)) }
func (d *fakeDisk) told(_ *request, s string) { d.said = append(d.said, s) }
func (d *fakeDisk) order(f func())            { d.orders = append(d.orders, f) }

func (d *fakeDisk) letGo(*client) { d.asked++ }

func (d *fakeDisk) broken() error {
	if d.fail == nil {
		return nil
	}
	return d.fail()
}

func (d *fakeDisk) write(b *batch) {
	d.order(func() {
		out := make([]diskCopy, len(b.objects))
		var err error
		for i, o := range b.objects {
			if o.moving != spilling || !o.inArena {
				panic("what is written is not there")
			}
			if err = d.broken(); err != nil {
				break
			}
			d.copies++
			out[i] = &fakeCopy{d: d, size: o.size, raw: d.copies%3 != 0, cached: d.copies%2 != 0}
		}
		d.t.written(b, out, err)
	})
}

func (d *fakeDisk) restore(o *object, to place) {
	d.order(func() {
		if o.disk.(*fakeCopy).gone {
			panic("a released copy is read")
		}
		var err error
		if d.lose != nil && d.lose() {
			err = spill.ErrCorrupt
		}
		d.t.restored(o, to, err)
	})
}

func (d *fakeDisk) makeFile(r *request) {
	d.order(func() {
		if err := d.broken(); err != nil {
			d.t.fileMade(r, "", err)
			return
		}
		d.made++
		path := fmt.Sprint("file", d.made)
		d.files[path] = true
		d.t.fileMade(r, path, nil)
	})
}

func (d *fakeDisk) removeFile(path string) {
	if !d.files[path] {
		panic("no such file: " + path)
	}
	delete(d.files, path)
}

// do carries out the order at i; later ones may be done before earlier ones.
func (d *fakeDisk) do(i int) {
	f := d.orders[i]
	d.orders = append(d.orders[:i], d.orders[i+1:]...)
	f()
}

func (d *fakeDisk) pass(by time.Duration) {
	d.clock = d.clock.Add(by)
	due := false
	var left []time.Time
	for _, w := range d.wakes {
		if w.After(d.clock) {
			left = append(left, w)
		} else {
			due = true
		}
	}
	if d.wakes = left; due {
		d.t.tick()
	}
}

// settle carries out everything, and lets time pass while something waits.
func (d *fakeDisk) settle() {
	for range 10_000 {
		switch {
		case len(d.orders) > 0:
			d.do(0)
		case d.t.waiting > 0:
			d.pass(time.Second)
		default:
			return
		}
	}
	panic("it does not come to rest")
}

// made is an object that somebody creates.
type made struct {
	at  place
	n   int
	err error
}

func (m *made) done(at place, err error) { m.at, m.err = at, err; m.n++ }

func put(t *testing.T, tb *objects, c *client, id ids.Object, size uint64) *made {
	t.Helper()
	m := new(made)
	tb.create(c, id, size, func(at place, err error) {
		m.done(at, err)
		if err == nil {
			if err := tb.seal(c, id); err != nil {
				t.Error(err)
			}
		}
	})
	return m
}

const mib = 1 << 20

func TestObjects_Full_OldestIdleGoesToDiskAndComesBack(t *testing.T) {
	tb, d := withDisk(8 * mib)
	a, b := &client{}, &client{}
	for n := range uint64(8) {
		if m := put(t, tb, a, owned(1, n), mib); m.n != 1 || m.err != nil {
			t.Fatal(m)
		}
	}
	var held outcome
	tb.pin(b, owned(1, 0), held.done) // the oldest is in use
	late := put(t, tb, a, owned(1, 9), mib)
	if late.n != 0 || tb.waiting != 1 {
		t.Fatal("it did not wait")
	}
	d.settle()
	if late.n != 1 || late.err != nil {
		t.Fatal(late)
	}
	if o := tb.table[owned(1, 1)]; !o.away || o.where() != "spilled" {
		t.Errorf("the oldest idle object is %s", o.where())
	}
	if o := tb.table[owned(1, 0)]; o.where() != "arena" || o.disk != nil {
		t.Errorf("the one in use is %s", o.where())
	}
	var back outcome
	tb.pin(b, owned(1, 1), back.done)
	if back.n != 0 {
		t.Fatal("it is not in memory")
	}
	d.settle()
	if back.n != 1 || back.err != nil || back.size != mib {
		t.Errorf("%+v", back)
	}
	for n := range uint64(10) {
		tb.free(a, owned(1, n))
	}
	tb.unpin(b, owned(1, 0))
	tb.unpin(b, owned(1, 1))
	d.settle()
	if d.copies != 0 || len(tb.table) != 0 || tb.used != 0 || tb.onDisk != 0 {
		t.Errorf("left: %d copies, %d objects, %d bytes", d.copies, len(tb.table), tb.used)
	}
}

func TestObjects_CopyOnDiskIsDamaged_OnlyThatOneIsLost(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &client{}
	for n := range uint64(12) {
		put(t, tb, a, owned(1, n), mib)
		d.settle()
	}
	d.lose = func() bool { return true }
	var got outcome
	tb.pin(a, owned(1, 0), got.done)
	d.settle()
	if fault.CodeOf(got.err) != fault.ObjectLost || tb.table[owned(1, 0)] != nil {
		t.Errorf("%v", got.err)
	}
	d.lose = nil
	again := put(t, tb, a, owned(1, 0), mib) // computed again
	d.settle()
	var next outcome
	tb.pin(a, owned(1, 1), next.done)
	d.settle()
	if again.err != nil || again.n != 1 || next.err != nil || next.n != 1 {
		t.Errorf("%+v, %+v", again, next)
	}
}

func TestObjects_AllPinned_FileStandsForMemory(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &client{}
	for n := range uint64(4) {
		put(t, tb, a, owned(1, n), mib)
		tb.pin(a, owned(1, n), func(place, uint64, error) {})
	}
	m := put(t, tb, a, owned(1, 9), mib)
	if m.n != 0 {
		t.Fatal("there was no room")
	}
	if len(d.orders) != 0 || d.asked != 1 {
		t.Error("it did not wait for pins to go")
	}
	d.pass(tb.grace)
	d.settle()
	huge := put(t, tb, a, owned(1, 10), 100*mib) // larger than the arena: no reason to wait
	if len(d.orders) != 1 {
		t.Error("it waits for what cannot be")
	}
	d.settle()
	for _, x := range []*made{m, huge} {
		if x.err != nil || x.at.path == "" {
			t.Errorf("%+v", x)
		}
	}
	if o := tb.table[owned(1, 10)]; o.where() != "file" {
		t.Error(o.where())
	}
	tb.free(a, owned(1, 9))
	tb.free(a, owned(1, 10))
	if len(d.files) != 0 || tb.files != 0 {
		t.Errorf("left: %v", d.files)
	}
}

func TestObjects_DiskFull_NewObjectsFailOldOnesStay(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &client{}
	for n := range uint64(6) {
		put(t, tb, a, owned(1, n), mib)
		d.settle()
	}
	d.fail = func() error { return unix.ENOSPC }
	m := put(t, tb, a, owned(1, 7), 3*mib)
	d.settle()
	if fault.CodeOf(m.err) != fault.OutOfDisk || m.n != 1 {
		t.Fatalf("%+v", m)
	}
	for n := range uint64(6) {
		var got outcome
		tb.pin(a, owned(1, n), got.done)
		d.settle()
		o := tb.table[owned(1, n)]
		compressed := o.disk != nil && !o.disk.(*fakeCopy).raw
		if got.n != 1 || got.err != nil && !(compressed && fault.CodeOf(got.err) == fault.OutOfDisk) {
			t.Errorf("object %d: %+v", n, got)
		}
		tb.unpin(a, owned(1, n))
	}
	d.fail = nil
	for n := range uint64(6) {
		var got outcome
		tb.pin(a, owned(1, n), got.done)
		d.settle()
		if got.n != 1 || got.err != nil {
			t.Errorf("with room again, object %d: %+v", n, got)
		}
		tb.unpin(a, owned(1, n))
	}
}

func TestObjects_DiskBroken_StoreFullSaysWhy(t *testing.T) {
	tb, d := withDisk(4 * mib)
	a := &client{}
	for n := range uint64(4) {
		put(t, tb, a, owned(1, n), mib)
	}
	d.fail = func() error { return unix.EIO }
	m := put(t, tb, a, owned(1, 7), mib)
	d.settle()
	if fault.CodeOf(m.err) != fault.StoreFull || !strings.Contains(m.err.Error(), unix.EIO.Error()) || !strings.Contains(m.err.Error(), "4194304 bytes are used by 4 objects") {
		t.Errorf("%v", m.err)
	}
}

// TestObjects_DiskHangs_WhatFitsGoesOn: one that waits says why, and goes on
// when the disk does.
func TestObjects_DiskHangs_WhatFitsGoesOn(t *testing.T) {
	tb, d := withDisk(16 * mib)
	a, b := &client{}, &client{}
	for n := range uint64(15) {
		put(t, tb, a, owned(1, n), mib)
	}
	big := put(t, tb, a, owned(1, 20), 4*mib)
	stuck := d.orders
	d.orders = nil // they hang
	d.pass(hangsAfter)
	for n := range uint64(20) {
		if m := put(t, tb, b, owned(2, n), mib/2); m.n != 1 || m.err != nil {
			t.Fatalf("object %d: %+v", n, m)
		}
		tb.free(b, owned(2, n))
		d.pass(time.Second)
	}
	if big.n != 0 || len(d.said) == 0 || !strings.Contains(d.said[0], "hang") || !strings.Contains(d.said[0], "4194304 bytes") {
		t.Fatalf("%+v said %q", big, d.said)
	}
	d.fail = func() error { return fmt.Errorf("a directory: %w", spill.ErrStuck) }
	for range 10 {
		d.pass(time.Second)
		for len(d.orders) > 0 {
			d.do(0)
		}
	}
	if big.n != 0 {
		t.Fatalf("a disk that hangs is no reason to fail: %v", big.err)
	}
	d.fail = nil
	d.orders = append(stuck, d.orders...)
	d.settle()
	if big.n != 1 || big.err != nil {
		t.Errorf("%+v", big)
	}
}

// TestObjects_LargeAndSmall_NobodyStarves: small objects that come and go keep
// the arena in pieces, and a large one gets its room all the same.
func TestObjects_LargeAndSmall_NobodyStarves(t *testing.T) {
	tb, d := withDisk(64 * mib)
	a, b := &client{}, &client{}
	n := uint64(0)
	small := func() *made { n++; return put(t, tb, b, owned(2, n), mib) }
	for range 64 {
		small()
	}
	large := put(t, tb, a, owned(1, 1), 20*mib)
	served := 0
	for range 200 {
		m := small()
		if len(d.orders) > 0 {
			d.do(0)
		}
		served += m.n
		if large.n > 0 {
			break
		}
	}
	if large.n != 1 || large.err != nil || large.at.path != "" {
		t.Fatalf("%+v after %d small ones", large, served)
	}
	d.settle()
	if tb.waiting != 0 {
		t.Error("small ones wait")
	}
}

// TestObjects_Creators_TakeTurns: one that asks for very much does not make the
// others wait behind it.
func TestObjects_Creators_TakeTurns(t *testing.T) {
	tb, d := withDisk(32 * mib)
	greedy := &client{}
	for n := range uint64(32) {
		put(t, tb, greedy, owned(1, n), mib)
	}
	var many []*made
	for n := range uint64(200) {
		many = append(many, put(t, tb, greedy, owned(1, 100+n), mib))
	}
	other := put(t, tb, &client{}, owned(2, 1), mib)
	for other.n == 0 && len(d.orders) > 0 {
		d.do(0)
	}
	before := 0
	for _, m := range many {
		before += m.n
	}
	if other.n != 1 || before > 40 {
		t.Errorf("%d requests of another creator went before", before)
	}
}

func TestObjects_CreatorDies_WhileItWaits(t *testing.T) {
	tb, d := withDisk(32 * mib)
	a, b := &client{}, &client{}
	for n := range uint64(32) {
		put(t, tb, a, owned(1, n), mib)
	}
	claims, small, huge := put(t, tb, b, owned(2, 1), 16*mib), put(t, tb, b, owned(2, 2), mib), put(t, tb, b, owned(2, 3), 64*mib)
	b.gone = true
	tb.dropClient(b, ids.Owner{2})
	d.settle()
	if claims.n+small.n+huge.n != 0 || tb.waiting != 0 || len(d.files) != 0 || len(tb.queues) != 0 {
		t.Errorf("answered %d %d %d; %d wait, files %v", claims.n, small.n, huge.n, tb.waiting, d.files)
	}
	check(t, tb)
	if m := put(t, tb, a, owned(1, 99), 24*mib); m.err != nil {
		t.Error(m.err)
	}
	d.settle()
	for n := range uint64(100) {
		tb.free(a, owned(1, n))
	}
	if s := tb.space.(*store.Arena).Stats(); s.Used != 0 {
		t.Errorf("%d bytes are still taken", s.Used)
	}
}

// TestObjects_RandomSpilling plays processes against a disk that is slow, out
// of order, full and broken at times, and checks what must hold after each step.
func TestObjects_RandomSpilling(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playSpilling(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

type pinned struct {
	id ids.Object
	at place
}

func playSpilling(t *testing.T, r *rand.Rand) {
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
	cs := []*client{{pid: 1}, {pid: 2}, {pid: 3}}
	asked, answered := 0, 0
	sealed := map[ids.Object]bool{}
	views := map[*client][]pinned{}
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
			tb.create(c, id, size, func(_ place, err error) {
				answered++
				if c.gone {
					t.Error("a dead process was answered")
				}
				if code := fault.CodeOf(err); err != nil && code != fault.OutOfDisk && code != fault.StoreFull {
					t.Error(err)
				}
				if err == nil {
					objs = append(objs, id)
				}
			})
		case 4, 5, 6:
			if tb.seal(c, id) == nil {
				sealed[id] = true
			}
		case 7, 8, 9:
			asked++
			tb.pin(c, id, func(at place, _ uint64, err error) {
				answered++
				if c.gone {
					t.Error("a dead process was answered")
				}
				if err == nil {
					views[c] = append(views[c], pinned{id, at})
				} else if code := fault.CodeOf(err); sealed[id] && tb.table[id] != nil && code == fault.ObjectLost && !lossy {
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
				tb.unpin(c, id)
			}
		case 12:
			tb.free(c, id)
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
			tb.dropClient(c, ids.Owner{byte(c.pid)})
			delete(views, c)
			next++
			for i := range cs {
				if cs[i] == c {
					cs[i] = &client{pid: int(4 + next%200)}
				}
			}
		}
		check(t, tb)
		checkLists(t, tb)
		for c, list := range views {
			for _, v := range list {
				o := tb.holders[c].pins[v.id]
				if o == nil || o.place != v.at || !o.readable() {
					t.Fatalf("object %s moved while it was looked at", v.id)
				}
			}
		}
	}
	d.fail, d.lose = nil, nil
	d.settle()
	for _, c := range cs {
		c.gone = true
		tb.dropClient(c, ids.Owner{byte(c.pid)})
	}
	for _, id := range objs {
		tb.free(nil, id)
	}
	d.settle()
	if len(tb.table)+len(tb.holders)+len(tb.owned)+len(tb.at)+tb.pinned+tb.waiting+tb.onDisk+tb.files+len(tb.batches) != 0 || tb.used+tb.onDiskBytes+tb.fileBytes != 0 {
		t.Errorf("left: %+v", tb.counters())
	}
	if s := tb.space.(*store.Arena).Stats(); s.Used != 0 || d.copies != 0 || len(d.files) != 0 {
		t.Errorf("left: %d bytes of the arena, %d copies, files %v", s.Used, d.copies, d.files)
	}
	if answered > asked {
		t.Errorf("%d answers to %d questions", answered, asked)
	}
}

// checkLists compares the lists with what should be in them.
func checkLists(t *testing.T, tb *objects) {
	t.Helper()
	listed := map[*object]bool{}
	for _, l := range []*lru{&tb.dirty, &tb.clean} {
		bytes := uint64(0)
		var last *object
		for o := l.oldest; o != nil; o = o.newer {
			if o.older != last || o.list != l || (o.disk != nil) != (l == &tb.clean) {
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
		if o.away {
			away++
		}
		if o.sealed && !o.readable() && o.disk == nil {
			t.Fatalf("object %s is nowhere", o.id)
		}
	}
	for _, q := range tb.queues {
		waiting += len(q)
	}
	if away != tb.onDisk || waiting != tb.waiting || len(tb.turns) != len(tb.queues) {
		t.Fatalf("%d on disk, not %d; %d wait, not %d", away, tb.onDisk, waiting, tb.waiting)
	}
}
