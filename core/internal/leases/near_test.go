package leases

import (
	"slices"
	"testing"
	"time"
)

// nearTo makes a class whose tasks had better run on a node.
func nearTo(p *pool, name string, node uint32) *class {
	return classOf(p, name, func(t *template) { t.Near = node })
}

// Leases of classes that ask for the same serve a class with large arguments if they are of the node with these.
func TestTakeIdle_LargeArguments_LeasesOfThatNodeOnly(t *testing.T) {
	p, _ := newPool(t)
	f, g, near := classOf(p, "f", nil), classOf(p, "g", nil), nearTo(p, "f", 2)
	for _, k := range []*class{f, g} {
		fill(k, 1)
		p.AdjustWant(k)
	}
	p.homeAt(f, 3).want, p.homeAt(g, 2).want = 1, 1
	f.opening, g.opening = 1, 1
	own, third, second := grant(t, p, f, at(1, 1), nil), grantAt(t, p, f, 3, 1), grantAt(t, p, g, 2, 1)
	for _, k := range []*class{f, g} {
		k.Queue.Pop()
		p.AdjustWant(k)
	}
	for _, l := range []*lease{own, third, second} {
		p.LeaseIdle(l)
	}
	fill(near, 1)
	if l := p.Next(near); l != second || second.Class != near {
		t.Fatalf("the task gets lease %+v, want that of node 2", l)
	}
	second.Busy = 1
	if l := p.Next(near); l != nil {
		t.Fatalf("the next task gets lease %d of node %d", l.ID, NodeOf(l.ID))
	}
	p.AdjustWant(near)
	near.asked = near.asked.Add(-DeepAfter)
	if near.Changed = time.Now(); p.Next(near) != nil {
		t.Error("a lease has just come, and one of another node is taken")
	}
	near.Changed = near.asked
	if l := p.Next(near); l != own && l != third {
		t.Errorf("no lease comes, and the task gets %v", l)
	}
}

// What has nothing to do goes to a class that waits for its node, not to one that waits for another.
func TestServeOther_LargeArgumentsElsewhere_ServesTheNext(t *testing.T) {
	p, h := newPool(t)
	f, near, g := classOf(p, "f", nil), nearTo(p, "g", 2), classOf(p, "g", nil)
	l := grant(t, p, f, at(1, 1), nil)
	for _, k := range []*class{near, g} {
		fill(k, 1)
		p.AdjustWant(k)
	}
	if p.LeaseIdle(l); l.Class != g || !slices.Contains(h.pumped, g) {
		t.Errorf("the lease serves %s, near node %d", l.Class.Name, l.Class.near)
	}
}

// A lease of another node than that of the arguments goes back at once, so that the next task is asked for anew; one of that node stays.
func TestLeaseIdle_OtherNodeThanTheArguments_GoesBack(t *testing.T) {
	for _, x := range []struct {
		near  uint32
		stays bool
	}{{0, true}, {1, true}, {2, false}} {
		p, _ := newPool(t)
		l := grant(t, p, nearTo(p, "f", x.near), at(1, 1), nil)
		if p.LeaseIdle(l); l.Gone == x.stays {
			t.Errorf("a lease of node 1 for tasks with arguments on node %d is gone: %v", x.near, l.Gone)
		}
	}
}
