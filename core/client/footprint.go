package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/machine"
	"github.com/eagleray/eagleray/core/refs"
)

// Footprint is what the Go side of this process has of memory and how many
// entries the tables have: after work of whatever amount those of it that is
// over are gone. For collect see machine.Footprint.
func (c *Client) Footprint(collect bool) map[string]uint64 {
	found := machine.Footprint(collect)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeDrops()
	owned, borrowed := c.table.Len()
	sockets := c.poller.Counts()
	recipes, held, idle := 0, 0, 0
	stored := c.local.Count()
	c.table.Recipes(func(*refs.Recipe) { recipes++ })
	c.table.EachUnconfirmed(func(ids.Owner, ids.Task, []*refs.Object) { held++ })
	for _, k := range c.classes {
		idle += cap(k.leases)
	}
	for name, n := range map[string]int{
		"owned": owned, "borrowed": borrowed, "recipes": recipes, "classes": len(c.classes), "templates": len(c.tmpls),
		"shapes": len(c.shapes), "leases": len(c.leases), "class_leases": idle, "actors": len(c.actors), "views": stored.Views,
		"mapped": stored.Mapped, "kept": c.table.Kept(), "streams": len(c.streams), "peers": c.links.Len(),
		"serving": c.served.Len(), "held": held, "sockets": sockets.Connections, "graves": sockets.Retired,
		"reported": len(c.reported), "delayed": len(c.delayed), "texts": len(c.texts), "pinnings": stored.Pinnings,
		"unfinished": c.unfinished, "drops": c.table.LateDrops(), "dirty": sockets.Unsent, "doomed": sockets.Ending, "loans": Loans(), "ref_batches": refs.Batches(),
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
