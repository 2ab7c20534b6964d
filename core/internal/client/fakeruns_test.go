package client

import (
	"slices"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// countsRuns starts workers that share one program. The program is told which run it is, from 1
// on. The function that is returned says how many runs have begun.
func (d *fakeDaemon) countsRuns(workers int, program func(run int, c *Client, it *Item)) func() int {
	d.t.Helper()
	var runs atomic.Int32
	for range workers {
		d.worker(func(c *Client, it *Item) { program(int(runs.Add(1)), c, it) })
	}
	return func() int { return int(runs.Load()) }
}

// echoesInOrder starts a worker that echoes. The function that is returned lists the texts of the
// tasks that it ran, in their order.
func (d *fakeDaemon) echoesInOrder() func() []string {
	d.t.Helper()
	var ran []string
	d.worker(func(c *Client, it *Item) {
		d.mu.Lock()
		ran = append(ran, textOf(it))
		d.mu.Unlock()
		echo(c, it)
	})
	return func() []string {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Clone(ran)
	}
}

// lease is the lease that the daemon has granted, of which there is one.
func (d *fakeDaemon) lease() (id uint64) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.leased) != 1 {
		d.t.Fatalf("%d leases are granted, want one", len(d.leased))
	}
	for id = range d.leased {
	}
	return id
}

// placeOf is where the store has an object.
func (d *fakeDaemon) placeOf(id ids.Object) wire.ObjPlace {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.objects[string(id[:])]
}
