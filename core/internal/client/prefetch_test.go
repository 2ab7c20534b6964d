package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The bounds of localstore, and the part of the arena that it prefetches at most.
const prefetchMost, prefetchShare = 16, 16

// TestGet_ListOfStoredValues_AskedForTogether: the daemon answers none before it was
// asked for as many as fit the bounds.
func TestGet_ListOfStoredValues_AskedForTogether(t *testing.T) {
	const size = 200 << 10
	d := startDaemon(t)
	c := d.driver()
	var list []ids.Object
	for i := range 3*prefetchMost + 5 {
		id, err := c.Put(&Value{Bufs: [][]byte{make([]byte, size+i)}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	fit := int(d.size) / prefetchShare / (size + 200)
	d.mu.Lock()
	d.onDisk, d.holdPins = true, min(prefetchMost, fit)+1
	d.mu.Unlock()
	if _, done, err := c.Wait(list, len(list), 0, WaitAll, func(int, bool) {}); err != nil || !done {
		t.Fatal(done, err)
	}
	for i, id := range list {
		if i == 1 {
			d.mu.Lock()
			d.holdPins = 0 // the last ones are fewer
			d.mu.Unlock()
		}
		f, err := c.Get(id, testLimit)
		if err != nil || f == nil || len(f.Envelope) < size+i {
			t.Fatalf("value %d: %v", i, err)
		}
		c.Release(Drop{View: f.View})
	}
	c.mu.Lock()
	if left := c.local.Count().Pinnings; left > 0 {
		t.Errorf("%d places are asked for", left)
	}
	c.mu.Unlock()
	c.unpinUnused()
	d.eventually("all are unpinned", func() bool { return d.pins == 0 })
}

// TestGet_ListGivenUp_NothingStaysPinned: who takes the first value only, and lets the
// references go.
func TestGet_ListGivenUp_NothingStaysPinned(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	var list []ids.Object
	for range 8 {
		id, err := c.Put(&Value{Bufs: [][]byte{make([]byte, 200<<10)}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	if _, done, err := c.Wait(list, len(list), 0, WaitAll, func(int, bool) {}); err != nil || !done {
		t.Fatal(done, err)
	}
	f, err := c.Get(list[0], testLimit)
	if err != nil {
		t.Fatal(err)
	}
	c.Release(Drop{View: f.View})
	for _, id := range list {
		c.Release(Drop{Object: id})
	}
	d.eventually("all are unpinned and freed", func() bool { return d.pins == 0 && len(d.freed) == len(list) })
}

// lateObject is a question for a place that is not answered yet.
type lateObject struct {
	m  *wire.Message
	at wire.ObjPlace
}
