package pressure

import (
	"cmp"
	"slices"
	"time"
)

// Kind says what a worker does.
type Kind int

// The kinds of workers, in the order in which they are ended.
const (
	Idle      Kind = iota // the worker does nothing
	Task                  // the worker runs a task that may be tried again
	Restarts              // an actor that may restart lives in the worker
	Once                  // the worker runs a task that must not run twice
	LastActor             // an actor that may not restart lives in the worker
)

// Worker is a worker that may be ended. The workers of one kind, owner and name are a
// group.
type Worker struct {
	ID      uint64
	Pid     int
	Kind    Kind
	Owner   string // who submitted what the worker runs
	Name    string // the function or class that the worker runs
	Started time.Time
	Bytes   uint64 // the anonymous memory of the worker, with its children
	Work    Work   // what the worker did when this was noted
}

// smallest is the divisor of the largest group's memory below which a group is left
// alone: to end one of its workers would lose work and free next to nothing.
const smallest = 10

type group struct {
	workers []Worker
	bytes   uint64
}

// Pick chooses the worker that is ended: among the groups of the first kind that there
// is, the newest worker of the largest group. The largest group is the one with the most
// workers, or, among equals, the one with the most memory. Groups that hold next to
// nothing are left alone while another group holds much.
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
		if g.bytes < most/smallest {
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
