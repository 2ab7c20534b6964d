package objects

import (
	"fmt"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/spill"
)

// proc is a process.
type proc struct {
	pid  int
	gone bool
}

func (c *proc) Gone() bool { return c.gone }

// fakeDisk is a disk whose orders are carried out when the test says so.
type fakeDisk struct {
	t      *Table
	clock  time.Time
	orders []func()
	wakes  []time.Time
	copies int // on disk
	files  map[string]bool
	made   int
	said   []string
	asked  int

	toldFreed []holding
	lost      []ids.Object
	mayDrop   func(ids.Object) bool // nil: every replica may be dropped
	kept      []ids.Object

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

func withDisk(size uint64) (*Table, *fakeDisk) {
	t := tableOf(size)
	d := &fakeDisk{t: t, clock: time.Unix(1000, 0), files: map[string]bool{}}
	t.effects, t.notify, t.batchBytes, t.writeAheadFrom, t.grace = d, d, size/8, size*8/10, 100*time.Millisecond
	return t, d
}

func (d *fakeDisk) now() time.Time            { return d.clock }
func (d *fakeDisk) later(after time.Duration) { d.wakes = append(d.wakes, d.clock.Add(after)) }
func (d *fakeDisk) Warn(_ Holder, s string)   { d.said = append(d.said, s) }
func (d *fakeDisk) order(f func())            { d.orders = append(d.orders, f) }

func (d *fakeDisk) LetGo(Holder) { d.asked++ }

func (d *fakeDisk) Lost(id ids.Object) { d.lost = append(d.lost, id) }

func (d *fakeDisk) MayDrop(list []ids.Object, answer func([]bool) []ids.Object) {
	d.order(func() {
		may := make([]bool, len(list))
		for i, id := range list {
			may[i] = d.mayDrop == nil || d.mayDrop(id)
		}
		d.kept = append(d.kept, answer(may)...)
	})
}

func (d *fakeDisk) Freed(c Holder, id ids.Object) { d.toldFreed = append(d.toldFreed, holding{c, id}) }

// holding is an object that a process has pinned.
type holding struct {
	holder Holder
	id     ids.Object
}

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

func (d *fakeDisk) restore(o *object, to Place) {
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
	at  Place
	n   int
	err error
}

func (m *made) done(at Place, err error) { m.at, m.err = at, err; m.n++ }

func put(t *testing.T, tb *Table, c *proc, id ids.Object, size uint64) *made {
	t.Helper()
	m := new(made)
	tb.Create(c, id, size, func(at Place, err error) {
		m.done(at, err)
		if err == nil {
			if err := tb.Seal(c, id); err != nil {
				t.Error(err)
			}
		}
	})
	return m
}

const mib = 1 << 20
