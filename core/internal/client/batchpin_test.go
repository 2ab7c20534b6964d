package client

import (
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/localstore"
)

// stored puts n values into the store.
func stored(t *testing.T, c *Client, n int) (list []ids.Object) {
	t.Helper()
	for range n {
		id, err := c.Put(&Value{Fmt: FmtNDArray, Bufs: [][]byte{make([]byte, MaxInline)}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	return list
}

func waitAll(t *testing.T, c *Client, list []ids.Object) {
	t.Helper()
	if _, done, err := c.Wait(list, len(list), testLimit, WaitAll, func(int, bool) {}); err != nil || !done {
		t.Fatal(done, err)
	}
}

func TestGet_ListInTheArena_PinnedByOneQuestion(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list := stored(t, c, 40)
	waitAll(t, c, append(list, list[3])) // one of them twice
	d.mu.Lock()
	if d.together != 1 || d.asked != 0 || d.pins != len(list) {
		t.Errorf("%d questions for many, %d for one, %d pins", d.together, d.asked, d.pins)
	}
	d.mu.Unlock()
	for _, id := range list {
		f, err := c.TryGet(id)
		if err != nil || f.View == 0 {
			t.Fatal(f.View, err)
		}
		c.Release(Drop{View: f.View})
	}
	waitAll(t, c, list) // all are mapped: nobody is asked
	d.mu.Lock()
	if d.together != 1 || d.asked != 0 {
		t.Errorf("%d questions for many, %d for one", d.together, d.asked)
	}
	d.mu.Unlock()
	c.unpinUnused()
	d.eventually("all are unpinned", func() bool { return d.pins == 0 })
}

func TestGet_ListThatIsNotInTheArena_AskedForOneByOne(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list := stored(t, c, 5)
	d.mu.Lock()
	d.onDisk = true
	d.mu.Unlock()
	waitAll(t, c, list)
	c.mu.Lock()
	if n := c.local.Count().Pinnings; n != 0 {
		t.Errorf("%d places are still asked for", n)
	}
	c.mu.Unlock()
	for _, id := range list {
		f, err := c.Get(id, testLimit)
		if err != nil || f.View == 0 {
			t.Fatal(f, err)
		}
		c.Release(Drop{View: f.View})
	}
}

// Threads that come for one of the values while the list is asked for get it, whether the answer has it or not.
func TestGet_OthersComeForOneMeanwhile_OnePinEach(t *testing.T) {
	for _, onDisk := range []bool{false, true} {
		d := startDaemon(t)
		c := d.driver()
		list := stored(t, c, 30)
		d.mu.Lock()
		d.onDisk = onDisk
		d.mu.Unlock()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if i%2 == 0 {
					if _, _, err := c.Wait(list, len(list), testLimit, WaitAll, func(int, bool) {}); err != nil {
						t.Error(err)
					}
				}
				for _, id := range list {
					f, err := c.Get(id, testLimit)
					if err != nil || f == nil {
						t.Error(f, err)
						return
					}
					c.Release(Drop{View: f.View})
				}
			}()
		}
		wg.Wait()
		c.unpinUnused()
		d.eventually("each was pinned once", func() bool { return d.pins == 0 })
		c.mu.Lock()
		if n := c.local.Count(); n != (localstore.Counts{}) {
			t.Errorf("left: %+v", n)
		}
		c.mu.Unlock()
	}
}

func TestGet_ListGoesWhileItIsAskedFor_NothingStays(t *testing.T) {
	d := startDaemon(t)
	c := d.driver()
	list := stored(t, c, 20)
	waitAll(t, c, list)
	for _, id := range list {
		c.Release(Drop{Object: id})
	}
	d.eventually("all are unpinned", func() bool { return d.pins == 0 })
	if owned, _ := c.Holds(); owned != 0 {
		t.Fatalf("%d are left", owned)
	}
}
