package pressure

import (
	"cmp"
	"slices"
	"time"
)

// Kind is what a worker does.
type Kind int

// The kinds of workers, in the order in which they are ended.
const (
	Idle      Kind = iota // nothing
	Task                  // a task that may be tried again
	Restarts              // an actor that may restart
	Once                  // a task that may not
	LastActor             // an actor that may not
)

// Worker is one that may be ended.
type Worker struct {
	ID      uint64
	Kind    Kind
	Owner   string // who submitted what it runs, and
	Name    string // the function or class; one owner's of one name are a group
	Started time.Time
	Bytes   uint64 // anonymous memory, with its children
	Pid     int
}

// trifle is the part of the largest group's memory below which a group is left
// alone: to end it would cost work and bring nothing.
const trifle = 10

type group struct {
	workers []Worker
	bytes   uint64
}

// Pick chooses the worker that is ended: of the first kind, the newest one of
// the largest group. The largest is the one with the most workers, of equals
// the one with the most memory. Groups that hold next to nothing are left alone
// while another one holds much.
func Pick(list []Worker) (w Worker, ok bool) {
	type key struct {
		kind        Kind
		owner, name string
	}
	groups := make(map[key]*group)
	var most uint64
	for _, w := range list {
		k := key{w.Kind, w.Owner, w.Name}
		g := groups[k]
		if g == nil {
			g = &group{}
			groups[k] = g
		}
		g.workers = append(g.workers, w)
		g.bytes += w.Bytes
		most = max(most, g.bytes)
	}
	var best *group
	var of key
	for k, g := range groups {
		if g.bytes < most/trifle {
			continue
		}
		if best == nil || better(k.kind, g, of.kind, best) {
			best, of = g, k
		}
	}
	if best == nil {
		return w, false
	}
	return slices.MaxFunc(best.workers, newer), true
}

func better(k Kind, g *group, than Kind, o *group) bool {
	return cmp.Or(
		cmp.Compare(than, k),
		cmp.Compare(len(g.workers), len(o.workers)),
		cmp.Compare(g.bytes, o.bytes),
		newer(slices.MaxFunc(g.workers, newer), slices.MaxFunc(o.workers, newer)),
	) > 0
}

func newer(a, b Worker) int {
	return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
}
