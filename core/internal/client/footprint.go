package client

import (
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/refs"
)

// Footprint returns how much memory the Go side of this process uses, and how many
// entries the tables have. Entries of work that is over must be gone, however much work it
// was. For collect see machine.Footprint.
func (c *Client) Footprint(collect bool) map[string]uint64 {
	found := machine.Footprint(collect)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.TakeDrops()
	owned, borrowed := c.table.Len()
	sockets := c.poller.Counts()
	submitting := c.submit.Counts()
	recipes, held := 0, 0
	stored := c.local.Count()
	c.table.Recipes(func(*refs.Recipe) { recipes++ })
	c.table.EachUnconfirmed(func(refs.TaskSocket, uint64, []*refs.Object) { held++ })
	for name, n := range map[string]int{
		"owned": owned, "borrowed": borrowed, "recipes": recipes, "classes": submitting.Classes, "templates": submitting.Templates,
		"shapes": submitting.Shapes, "leases": submitting.Leases, "class_leases": submitting.ClassLeases, "actors": submitting.Actors, "views": stored.Views,
		"mapped": stored.Mapped, "kept": c.table.Kept(), "streams": submitting.Generators, "peers": c.links.Len(), "guests": c.guests.Len(),
		"serving": c.served.Len(), "held": held, "sockets": sockets.Connections, "retired": sockets.Retired,
		"reported": submitting.Reported, "delayed": submitting.Delayed, "texts": c.sites.Len(), "pinnings": stored.Pinnings,
		"unfinished": submitting.Unfinished, "drops": c.table.LateDrops(), "unsent": sockets.Unsent, "ending": sockets.Ending, "loans": Loans(), "ref_batches": refs.Batches(),
	} {
		found["n_"+name] = uint64(n)
	}
	if e := c.exec; e != nil {
		x := e.Counts()
		for name, n := range map[string]int{
			"calls": x.Running, "queue": x.Waiting, "early": x.Early, "callers": x.Callers, "functions": x.Functions,
		} {
			found["n_exec_"+name] = uint64(n)
		}
	}
	return found
}
