package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// groupsWorld is a world in which placement groups are made, opened and removed.
type groupsWorld struct {
	*world
	groups   []*playedGroup
	waiting  map[uint64]*playedGroup // requests that have no answer, by their tickets
	followed map[ids.Group]bool
	ticket   uint64
	removed  map[ids.Group]bool

	prepared, refused, dropped, grants, failed int
}

type playedGroup struct {
	id      ids.Group
	job     ids.Job
	epoch   uint64
	ticket  uint64 // of the latest request
	answers bool   // it has one
	needs   []resource.Set
	open    int // so many of the first are open
}

func newGroupsWorld(t *testing.T, seed uint64) *groupsWorld {
	w := &groupsWorld{world: newWorld(t, seed), waiting: map[uint64]*playedGroup{}, followed: map[ids.Group]bool{}, removed: map[ids.Group]bool{}}
	w.r = rand.New(rand.NewPCG(seed, 9))
	w.elsewhere, w.strategies = w.hear, w.chooses
	return w
}

// chooses has many classes run in groups, also in such as are not there yet, or not any more.
func (w *groupsWorld) chooses(c *Class) {
	if w.r.IntN(3) == 0 {
		return
	}
	number := max(1, len(w.groups)-w.r.IntN(3)+w.r.IntN(3))
	c.Strategy = strategy.Strategy{Kind: strategy.Group, Group: numberedGroup(number), Bundle: w.r.IntN(3) - 1}
	c.Need = resource.InBundle(pick(w.r, bundleShapes), resource.BundleID{Group: c.Strategy.Group.String(), Index: c.Strategy.Bundle})
	c.Else, c.After = nil, 0
}

func numberedGroup(n int) ids.Group { return ids.Group{byte(n), byte(n >> 8), 1} }

var bundleShapes = []resource.Set{
	{"CPU": resource.Unit}, {"CPU": resource.Unit / 2}, {"CPU": 2 * resource.Unit}, {"GPU": resource.Unit / 2, "CPU": resource.Unit}, {"GPU": 3 * resource.Unit / 10}, {"GPU": resource.Unit}, {"x": resource.Unit}, {},
}

func (w *groupsWorld) hear(a Action) bool {
	switch a := a.(type) {
	case BundlesPrepared:
		g := w.waiting[a.Ticket]
		if g == nil || g.id != a.Group || g.epoch != a.Epoch || a.N != len(g.needs)-g.open {
			w.t.Fatalf("%s: nobody waits for that", a)
		}
		delete(w.waiting, a.Ticket)
		if g.answers = a.OK; a.OK {
			w.prepared++
		} else {
			w.refused++
		}
	case FollowGroup:
		if w.followed[a.Group] {
			w.t.Fatalf("%s: it is followed", a)
		}
		w.followed[a.Group] = true
	case Grant:
		if w.m.clients[a.Client] == nil {
			return false
		}
		if c := w.m.clients[a.Client].classes[a.Class].class; c.Strategy.Kind == strategy.Group {
			w.grants++
			id, in := a.Hold.Bundle()
			if !in || id.Group != c.Strategy.Group.String() || c.Strategy.Bundle >= 0 && id.Index != c.Strategy.Bundle || w.removed[c.Strategy.Group] {
				w.t.Fatalf("%s: it is of %s, and the class runs in bundle %d of group %s", a, id, c.Strategy.Bundle, c.Strategy.Group)
			}
		} else if _, in := a.Hold.Bundle(); in {
			w.t.Fatalf("%s: it is of a bundle, and the class runs in none", a)
		}
		return false
	case ClassFailed:
		w.failed++
		return false
	default:
		return false
	}
	return true
}

func (w *groupsWorld) play() {
	r, m := w.r, w.m
	for _, id := range slices.SortedFunc(maps.Keys(w.followed), func(a, b ids.Group) int { return slices.Compare(a[:], b[:]) }) {
		if w.removed[id] { // it was removed before it was followed
			delete(w.followed, id)
			m.GroupFails(id, fault.PlacementGroupRemoved, "it was removed")
		}
	}
	w.obey()
	var g *playedGroup
	if len(w.groups) > 0 {
		g = w.groups[max(0, len(w.groups)-1-r.IntN(3))]
	}
	switch n := r.IntN(30); {
	case n < 1:
		g = &playedGroup{id: numberedGroup(len(w.groups) + 1), job: ids.JobOf(uint32(1 + r.IntN(3)))}
		w.groups = append(w.groups, g)
		w.prepare(g)
	case g == nil || w.removed[g.id]:
		w.step()
	case n < 2: // the head has chosen anew, or some of the bundles were on a node that has died
		w.prepare(g)
	case n < 5:
		if g.answers {
			m.CommitBundles(g.id, g.epoch)
			g.open, g.answers = len(g.needs), false
		}
	case n < 6:
		ticket := g.ticket - uint64(r.IntN(2))
		m.UnprepareBundles(g.id, ticket)
		if ticket == g.ticket && g.open < len(g.needs) {
			w.forget(g)
		}
	case n < 7:
		if r.IntN(3) == 0 {
			w.drop(g)
		}
	case n < 8:
		if r.IntN(3) == 0 && w.followed[g.id] {
			m.GroupFails(g.id, fault.PlacementGroupUnschedulable, "no nodes")
		}
	case n < 10:
		m.GroupWaits(g.id)
	default:
		w.step()
	}
	w.obey()
	w.check()
}

// forget is for a request that is not opened any more.
func (w *groupsWorld) forget(g *playedGroup) {
	delete(w.waiting, g.ticket)
	g.needs, g.answers = g.needs[:g.open], false
}

func (w *groupsWorld) prepare(g *playedGroup) {
	if g.open > 2 {
		return
	}
	w.forget(g)
	w.ticket++
	g.ticket = w.ticket
	g.epoch++
	b := Bundles{Group: g.id, Name: "g", Epoch: g.epoch, Ticket: g.ticket, For: time.Duration(w.r.IntN(3)) * 400 * time.Millisecond}
	for range 1 + w.r.IntN(3) {
		b.Index, b.Needs = append(b.Index, len(g.needs)), append(b.Needs, pick(w.r, bundleShapes[:len(bundleShapes)-1]))
		g.needs = append(g.needs, b.Needs[len(b.Needs)-1])
	}
	w.waiting[g.ticket] = g
	w.m.PrepareBundles(g.job, b)
}

// drop removes a group. Whoever follows it hears that a little later.
func (w *groupsWorld) drop(g *playedGroup) {
	w.dropped++
	w.forget(g)
	w.removed[g.id] = true
	w.m.DropBundles(g.id)
	w.obey()
	w.check()
	if w.followed[g.id] {
		delete(w.followed, g.id)
		w.m.GroupFails(g.id, fault.PlacementGroupRemoved, "it was removed")
	}
}

func (w *groupsWorld) check() {
	m := w.m
	node, inside, open := resource.Set{}, map[resource.BundleID]resource.Set{}, map[resource.BundleID]bool{}
	for _, b := range m.ledger.Bundles() {
		open[b.ID] = b.Open
		node.Add(b.Need)
	}
	w.held(func(a *resource.Allocation, s resource.Set) {
		id, in := a.Bundle()
		if !in {
			node.Add(s)
			return
		}
		if inside[id] == nil {
			inside[id] = resource.Set{}
			if a.Dropped() { // what the bundle has is not free yet
				node.Add(w.needOf(id))
			}
		}
		inside[id].Add(s)
		if !open[id] != a.Dropped() {
			w.t.Fatalf("%s is open: %v, and something is held of it that was dropped: %v", id, open[id], a.Dropped())
		}
	})
	free := m.ledger.Free()
	for name, n := range free {
		if !resource.IsBundleName(name) {
			node[name] += n
		}
	}
	if plain := m.ledger.Plain(); !node.Equal(plain) {
		w.t.Fatalf("held, set aside and free make %s, the node has %s", node, plain)
	}
	for id, isOpen := range open {
		if !isOpen {
			continue
		}
		sum := inside[id].Clone()
		delete(sum, resource.Marker)
		for name := range w.needOf(id) {
			sum[name] += free[fmt.Sprintf("%s_group_%d_%s", name, id.Index, id.Group)]
		}
		if !sum.Equal(w.needOf(id)) {
			w.t.Fatalf("held and free of %s make %s, it has %s", id, sum, w.needOf(id))
		}
	}
	for _, k := range m.workers {
		if k.hold.Dropped() && k.state != workerEnding && (k.dropAt == 0 || m.now >= k.dropAt) {
			w.t.Fatalf("worker %d is used in a bundle that was dropped", k.id)
		}
	}
	for _, p := range m.pools {
		for _, x := range p.queue {
			if x.hold.Dropped() || x.extra.Dropped() {
				w.t.Fatal("something is reserved of a bundle that was dropped")
			}
		}
	}
	for _, d := range m.waiting {
		if b := d.bundles; b != nil && (b.For > 0 && m.now >= d.stays || w.waiting[b.Ticket] == nil) {
			w.t.Fatalf("bundles of %s wait until %v, with ticket %d", b.Group, d.stays, b.Ticket)
		}
	}
	for id := range w.removed {
		if len(m.bundles[id]) > 0 {
			w.t.Fatalf("group %s was removed, and %d requests are kept", id, len(m.bundles[id]))
		}
	}
	w.checkRest()
}

func (w *groupsWorld) needOf(id resource.BundleID) resource.Set {
	for _, g := range w.groups {
		if g.id.String() == id.Group {
			return g.needs[id.Index]
		}
	}
	w.t.Fatalf("%s is of no group", id)
	return nil
}

// end removes all groups, and everything else.
func (w *groupsWorld) end() {
	for _, g := range w.groups {
		if !w.removed[g.id] {
			w.drop(g)
			w.obey()
		}
	}
	w.drain()
	if len(w.m.bundles)+len(w.waiting) != 0 || len(w.m.groups) != len(w.followed) {
		w.t.Fatalf("%d groups have bundles, %d requests wait, %d groups are followed, which should be %d", len(w.m.bundles), len(w.waiting), len(w.m.groups), len(w.followed))
	}
	w.now += time.Minute
	w.m.Advance(w.now)
	if len(w.m.dropped) != 0 {
		w.t.Fatal("workers are to be stopped that are gone")
	}
}

// Bundles are set aside, opened and dropped among all that happens on a node. What is held and free adds up, on the node and in each bundle; nothing waits that fits; and nothing is
// used for long of a bundle that was dropped.
func TestMachine_RandomEventsWithGroups_KeepsInvariants(t *testing.T) {
	prepared, refused, dropped, grants, failed := 0, 0, 0, 0, 0
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newGroupsWorld(t, seed)
			for range 600 {
				w.play()
			}
			prepared, refused, dropped, grants, failed = prepared+w.prepared, refused+w.refused, dropped+w.dropped, grants+w.grants, failed+w.failed
			w.end()
		})
	}
	if prepared < 150 || refused < 100 || dropped < 150 || grants < 60 || failed < 300 {
		t.Errorf("%d requests were prepared and %d refused, %d groups removed, %d leases granted in bundles, %d classes failed", prepared, refused, dropped, grants, failed)
	}
}

func TestMachine_SameEventsWithGroups_SameActions(t *testing.T) {
	trace := func() []string {
		w := newGroupsWorld(t, 7)
		for range 1500 {
			w.play()
		}
		return w.trace
	}
	if a, b := trace(), trace(); !slices.Equal(a, b) {
		t.Error("the traces of two equal runs differ")
	}
}

// A request for bundles gets its turn although the tasks of a class want all CPUs, again and again.
func TestBundles_AClassWantsAllForEver_AreSetAsideAllTheSame(t *testing.T) {
	w := newWorld(t, 1)
	m := w.m
	m.AddClient(1, ids.JobOf(1))
	m.DefineClass(1, Class{ID: 1, Need: resource.Set{"CPU": resource.Unit}, Name: "f"})
	for _, job := range []uint32{1, 2} { // also of another job
		group, set := numberedGroup(int(job)), false
		w.elsewhere = func(a Action) bool {
			b, is := a.(BundlesPrepared)
			set = set || is && b.Group == group && b.OK
			return is
		}
		m.Want(1, 1, 100)
		m.PrepareBundles(ids.JobOf(job), Bundles{Group: group, Epoch: 1, Index: []int{0, 1}, Needs: []resource.Set{{"CPU": resource.Unit}, {"CPU": 2 * resource.Unit}}})
		for i := 0; !set; i++ {
			if i > 1000 {
				t.Fatalf("bundles of job %d are not set aside within %v", job, w.now)
			}
			w.obey()
			for _, id := range w.starting {
				m.WorkerReady(id)
			}
			w.starting = nil
			w.now += 2 * time.Millisecond
			m.Advance(w.now)
			w.obey()
			if ids := slices.Sorted(maps.Keys(w.leases)); len(ids) > 0 { // the oldest one is given back
				g := w.leases[ids[0]]
				delete(w.leases, g.Lease)
				delete(w.devices, g.Worker)
				m.Return(1, g.Lease, false, false)
			}
			m.Want(1, 1, 100)
			w.obey()
		}
		m.DropBundles(group)
	}
}

// Whether one node alone could have a group is found as if all were free.
func TestWhyNoBundles_AsPackingSaysOfTheIdleNode(t *testing.T) {
	m := newWorld(t, 1).m
	part := func(tenths int64) resource.Set {
		return resource.Set{"GPU": resource.Amount(tenths) * resource.Unit / 10}
	}
	m.ledger.Acquire(resource.Set{"CPU": 3 * resource.Unit})
	for _, c := range []struct {
		s     packing.Strategy
		needs []resource.Set
		could bool
	}{
		{packing.Pack, []resource.Set{{"CPU": 2 * resource.Unit}, {"CPU": resource.Unit}}, true}, {packing.Spread, []resource.Set{{"CPU": 4 * resource.Unit}}, false},
		{packing.StrictSpread, []resource.Set{{"CPU": resource.Unit}, {"CPU": resource.Unit}}, false}, {packing.StrictSpread, []resource.Set{{"CPU": resource.Unit}}, true},
		{packing.StrictPack, []resource.Set{part(6), part(6), part(6), part(4)}, true}, {packing.StrictPack, []resource.Set{part(6), part(6), part(6), part(6)}, false},
	} {
		if why := m.WhyNoBundles(c.s, Bundles{Name: "g", Needs: c.needs}); (why == "") != c.could {
			t.Errorf("%s of %v: %q", c.s, c.needs, why)
		}
	}
}
