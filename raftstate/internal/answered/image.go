package answered

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// ImageClient is a client in a snapshot. The clients come in the order of their last commands.
type ImageClient[R any] struct {
	ID      Client           `msgpack:"id"`
	Floor   uint64           `msgpack:"floor"`
	Since   uint64           `msgpack:"since"`
	Used    uint64           `msgpack:"used"`
	Results []ImageResult[R] `msgpack:"results"` // in the order of the requests' numbers
}

// ImageResult is a result in a snapshot.
type ImageResult[R any] struct {
	Seq    uint64 `msgpack:"seq"`
	Result R      `msgpack:"res"`
}

func (a *asker[R]) image() *ImageClient[R] {
	c := &ImageClient[R]{ID: a.id, Floor: a.floor, Since: a.since, Used: a.used}
	for _, x := range a.kept.list {
		c.Results = append(c.Results, ImageResult[R]{x.seq, x.result})
	}
	return c
}

// Image gives the clients as they are in a snapshot.
func (t *Table[R]) Image() iter.Seq[*ImageClient[R]] {
	return func(yield func(*ImageClient[R]) bool) {
		for a := t.oldest; a != nil; a = a.next {
			if !yield(a.image()) {
				return
			}
		}
	}
}

// Forgotten returns the index of the last command of all clients that were forgotten. It is a part of the snapshot.
func (t *Table[R]) Forgotten() uint64 { return t.forgotten }

// RestoreForgotten takes Forgotten of a snapshot.
func (t *Table[R]) RestoreForgotten(index uint64) { t.forgotten = index }

// Restore adds a client of a snapshot.
func (t *Table[R]) Restore(c *ImageClient[R]) error {
	if t.clients[c.ID] != nil {
		return fmt.Errorf("the client %x is there twice", c.ID)
	}
	a := &asker[R]{id: c.ID, floor: c.Floor, since: c.Since, used: c.Used}
	for i, x := range c.Results {
		if i > 0 && x.Seq <= c.Results[i-1].Seq {
			return fmt.Errorf("the results of the client %x are not in order: %d comes after %d", c.ID, x.Seq, c.Results[i-1].Seq)
		}
		a.kept.add(x.Seq, x.Result)
	}
	t.enter(a)
	return nil
}

// FirstRequest is a result in a snapshot of the first layout. They come in the order of the log.
type FirstRequest[R any] struct {
	ID     RequestID `msgpack:"id"`
	Result R         `msgpack:"res"`
}

// RestoreFirst takes what a snapshot of the first layout has: floors of clients whose older results had gone, and results. The function index
// gives the index of the log at which the command with a result was applied.
func (t *Table[R]) RestoreFirst(floors []RequestID, requests []FirstRequest[R], index func(R) uint64) {
	byClient := map[Client]*asker[R]{}
	var all []*asker[R]
	of := func(id Client) *asker[R] {
		a := byClient[id]
		if a == nil {
			a = &asker[R]{id: id}
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
			a.used = max(a.used, index(r.Result))
		}
	}
	slices.SortStableFunc(all, func(a, b *asker[R]) int { return cmp.Compare(a.used, b.used) })
	for _, a := range all {
		t.enter(a)
	}
}
