package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
)

func putBytes(t *testing.T, c *Client, n int, fill byte) ids.Object {
	t.Helper()
	b := make([]byte, n)
	for i := range b {
		b[i] = fill
	}
	id, err := c.Put(&Value{Fmt: FmtBytes, Bufs: [][]byte{b}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// holdsBytes checks what an object holds.
func holdsBytes(t *testing.T, c *Client, id ids.Object, n int, fill byte) {
	t.Helper()
	f, err := c.Get(id, testLimit)
	if err != nil || f == nil {
		t.Fatal(f, err)
	}
	body := f.Envelope[len(f.Envelope)-n:]
	if body[0] != fill || body[n/2] != fill || body[n-1] != fill {
		t.Errorf("object %s holds %d, %d, %d and not %d", id, body[0], body[n/2], body[n-1], fill)
	}
	if f.View != 0 {
		c.Release(Drop{View: f.View})
	}
}

// patient is a driver whose ranges wait long enough for any machine.
func (d *fakeDaemon) patient() *Client {
	c := d.driver()
	c.mu.Lock()
	c.local.SetTimes(localstore.Times{Idle: time.Minute, Spare: time.Minute})
	c.mu.Unlock()
	return c
}

func TestReuse_PutAfterPut_OneRange(t *testing.T) {
	d := startDaemon(t)
	c := d.patient()
	for i := range 20 {
		id := putBytes(t, c, localstore.ReuseFrom+1000, byte(i))
		if i%2 == 0 { // one that was looked at, too
			holdsBytes(t, c, id, localstore.ReuseFrom+1000, byte(i))
		}
		c.Release(Drop{Object: id})
	}
	d.eventually("each put but the first has used the range again", func() bool { return d.reused == 19 && len(d.objects) == 1 })
	c.mu.Lock()
	c.local.DropSpare()
	c.mu.Unlock()
	d.eventually("the last one is freed, and nothing is pinned", func() bool { return len(d.freed) == 20 && d.pins == 0 })
}

func TestReuse_OfAnotherSize_IsGivenBackFirst(t *testing.T) {
	d := startDaemon(t)
	c := d.patient()
	for _, size := range []int{4 << 20, 5 << 20, 2 << 20} {
		id := putBytes(t, c, size, 1)
		holdsBytes(t, c, id, size, 1)
		c.Release(Drop{Object: id})
	}
	c.mu.Lock()
	c.local.DropSpare()
	c.mu.Unlock()
	d.eventually("all are freed, and nothing is pinned", func() bool { return len(d.freed) == 3 && d.pins == 0 && d.reused == 0 })
}

// Whoever may have the object keeps it: other processes, the program's arrays, values that contain it.
func TestReuse_OthersMayHaveIt_IsNot(t *testing.T) {
	d := startDaemon(t)
	d.worker(size)
	c := d.patient()
	tmpl := template(t, c, "size")
	const n = localstore.ReuseFrom + 5

	taken := putBytes(t, c, n, 1)
	r, _, err := c.Submit(&Call{Template: tmpl, Deps: []ids.Object{taken}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(r, testLimit); err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{Object: taken})
	c.Release(Drop{Object: putBytes(t, c, n, 2)})

	viewed := putBytes(t, c, n, 3) // takes the place of the one before
	f, err := c.Get(viewed, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{Object: viewed})
	c.Release(Drop{Object: putBytes(t, c, n, 4)})
	if f.Envelope[len(f.Envelope)-1] != 3 {
		t.Error("memory that the program looks at was written over")
	}
	c.Release(Drop{View: f.View})

	exported := putBytes(t, c, n, 5) // takes the place of 4
	if _, err := c.Export(exported); err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{Object: exported})

	listed := putBytes(t, c, n, 6)
	if _, err := c.RefTable([]*ids.Object{&listed}); err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{Object: listed})
	last := putBytes(t, c, n, 7)
	holdsBytes(t, c, last, n, 7)
	c.Release(Drop{Object: last})
	c.unpinUnused()
	d.eventually("all are freed", func() bool { return len(d.freed) == 7 })
	if d.reused != 2 {
		t.Errorf("%d ranges were used again, and 2 were nobody else's", d.reused)
	}
}

// When others need room the range goes, and so does the pin on what was written last.
func TestReuse_RoomIsWanted_RangeGoes(t *testing.T) {
	d := startDaemon(t)
	c := d.patient()
	kept := putBytes(t, c, localstore.ReuseFrom, 1)
	c.unpinUnused()
	d.eventually("what was written is unpinned", func() bool { return d.pins == 0 })
	id := putBytes(t, c, localstore.ReuseFrom, 2)
	c.Release(Drop{Object: id})
	c.unpinUnused()
	d.eventually("the range is free", func() bool { return d.freed[string(id[:])] && d.pins == 0 })
	d.mu.Lock()
	if d.tooSoon[string(id[:])] {
		t.Error("the daemon heard that nobody looks at it before it heard that nobody wants it")
	}
	d.mu.Unlock()
	holdsBytes(t, c, kept, localstore.ReuseFrom, 1)
}
