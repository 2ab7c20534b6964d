package raftstate

import (
	"cmp"
	"fmt"
	"slices"
)

// imageClient is a client in a snapshot. The clients come in the order of their last commands.
type imageClient struct {
	ID      Client        `msgpack:"id"`
	Floor   uint64        `msgpack:"floor"`
	Since   uint64        `msgpack:"since"`
	Used    uint64        `msgpack:"used"`
	Results []imageResult `msgpack:"results"` // in the order of the requests' numbers
}

type imageResult struct {
	Seq    uint64 `msgpack:"seq"`
	Result Result `msgpack:"res"`
}

func (a *asker) image() *imageClient {
	c := &imageClient{ID: a.id, Floor: a.floor, Since: a.since, Used: a.used}
	for _, x := range a.kept.list {
		c.Results = append(c.Results, imageResult{x.seq, x.result})
	}
	return c
}

// restore adds a client of a snapshot.
func (d *dedup) restore(c *imageClient) error {
	if d.clients[c.ID] != nil {
		return fmt.Errorf("the client %x is there twice", c.ID)
	}
	a := &asker{id: c.ID, floor: c.Floor, since: c.Since, used: c.Used}
	for i, x := range c.Results {
		if i > 0 && x.Seq <= c.Results[i-1].Seq {
			return fmt.Errorf("the results of the client %x are not in order: %d comes after %d", c.ID, x.Seq, c.Results[i-1].Seq)
		}
		a.kept.add(x.Seq, x.Result)
	}
	d.enter(a)
	return nil
}

// restoreFirst takes what earlier versions wrote: floors of clients whose older results had gone, and results in the order of the log.
func (d *dedup) restoreFirst(floors []RequestID, requests []firstRequest) {
	byClient := map[Client]*asker{}
	var all []*asker
	of := func(id Client) *asker {
		a := byClient[id]
		if a == nil {
			a = &asker{id: id}
			byClient[id] = a
			all = append(all, a)
		}
		return a
	}
	for _, f := range floors {
		of(f.Client).floor = f.Seq
	}
	for _, r := range requests {
		a := of(r.ID.Client)
		if _, known := a.kept.find(r.ID.Seq); !known {
			a.kept.add(r.ID.Seq, r.Result)
			a.used = max(a.used, r.Result.Index)
		}
	}
	slices.SortStableFunc(all, func(a, b *asker) int { return cmp.Compare(a.used, b.used) })
	for _, a := range all {
		d.enter(a)
	}
}
