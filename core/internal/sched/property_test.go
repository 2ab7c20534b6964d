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
	"github.com/eagleray/eagleray/core/internal/resource"
)

// TestMachine_RandomEvents_KeepsInvariants plays random clients and workers
// against the machine and checks the invariants of doc.go after every event.
func TestMachine_RandomEvents_KeepsInvariants(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for range 400 {
				w.step()
				w.check()
			}
			w.drain()
		})
	}
}

// TestMachine_SameEvents_SameActions runs one seed twice.
func TestMachine_SameEvents_SameActions(t *testing.T) {
	trace := func() []string {
		w := newWorld(t, 7)
		for range 2000 {
			w.step()
		}
		return w.trace
	}
	if a, b := trace(), trace(); !slices.Equal(a, b) {
		t.Error("the traces of two equal runs differ")
	}
}

// world is what surrounds the machine: what it was told and what it ordered.
type world struct {
	t     *testing.T
	r     *rand.Rand
	m     *Machine
	now   time.Duration
	trace []string

	starting, idleStop []WorkerID // ordered; told to stop
	leases             map[LeaseID]Grant
	actors             map[WorkerID]ActorID
	blocked            map[WorkerID]bool
	clients            []ClientID
	nextClient         ClientID
	nextActor          int
	waitingActors      map[ActorID]bool
	wrong              map[ActorID]bool // that ask for labels which the node does not have
	devices            deviceUses
	first              map[WorkerID]string // the devices that a worker was first used with
	strategies         func(*Class)        // gives a class a strategy; nil: there are none
	elsewhere          func(Action) bool   // takes what concerns other nodes, and reports whether it did; nil: there are none
}

func newWorld(t *testing.T, seed uint64) *world {
	l, err := resource.NewLedger(resource.Set{"CPU": 3 * resource.Unit, "x": 2 * resource.Unit}, map[string][]string{"GPU": {"0", "1", "2"}, "NPU": {"0", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)),
		m:       New(Options{Ledger: l, MaxIdle: 3, MaxStarts: 3, Labels: here}),
		leases:  make(map[LeaseID]Grant),
		actors:  make(map[WorkerID]ActorID),
		blocked: make(map[WorkerID]bool), waitingActors: make(map[ActorID]bool), wrong: make(map[ActorID]bool), devices: make(deviceUses),
		first: make(map[WorkerID]string),
	}
}

var shapes = []resource.Set{
	{"CPU": resource.Unit},
	{"CPU": resource.Unit / 2},
	{"CPU": 2 * resource.Unit, "x": resource.Unit},
	{"GPU": resource.Unit / 2, "CPU": resource.Unit},
	{"GPU": resource.Unit / 4},
	{"GPU": 2 * resource.Unit},
	{"GPU": resource.Unit, "NPU": resource.Unit / 4},
	{"x": 2 * resource.Unit},
	{},
}

func pick[T any](r *rand.Rand, s []T) T { return s[r.IntN(len(s))] }

func (w *world) step() {
	m, r := w.m, w.r
	switch n := r.IntN(100); {
	case n < 6:
		w.nextClient++
		id := w.nextClient
		m.AddClient(id, ids.JobOf(uint32(1+r.IntN(3))))
		for c := range 3 {
			m.DefineClass(id, w.class(ClassID(c)))
		}
		w.clients = append(w.clients, id)
	case n < 8 && len(w.clients) > 0:
		i := r.IntN(len(w.clients))
		m.RemoveClient(w.clients[i])
		for id, g := range w.leases {
			if g.Client == w.clients[i] {
				delete(w.leases, id)
			}
		}
		w.clients = slices.Delete(w.clients, i, i+1)
	case n < 30 && len(w.clients) > 0:
		m.UpdateWant(pick(r, w.clients), ClassID(r.IntN(3)), WantUpdate{N: r.IntN(4), Due: r.IntN(4), Seen: uint64(r.IntN(3))})
	case n < 45 && len(w.leases) > 0:
		g := w.leases[w.anyLease()]
		delete(w.leases, g.Lease)
		exiting, unusable := r.IntN(4) == 0, r.IntN(4) == 0
		if !exiting && !unusable {
			delete(w.devices, g.Worker)
		}
		m.Return(g.Client, g.Lease, exiting, unusable)
		delete(w.blocked, g.Worker)
		if exiting {
			w.idleStop = append(w.idleStop, g.Worker)
		}
	case n < 65 && len(w.starting) > 0:
		i := r.IntN(len(w.starting))
		id := w.starting[i]
		w.starting = slices.Delete(w.starting, i, i+1)
		switch r.IntN(8) {
		case 0:
			m.WorkerFailed(id, "no luck")
		case 1:
			m.WorkerGone(id)
		default:
			m.WorkerReady(id)
		}
	case n < 72 && len(w.idleStop) > 0:
		w.gone(w.idleStop[0])
	case n < 75 && len(w.leases) > 0:
		w.gone(w.leases[w.anyLease()].Worker)
	case n < 80:
		w.nextActor++
		id := actorNumber(w.nextActor)
		w.waitingActors[id] = true
		run := pick(r, []resource.Set{{}, {"CPU": resource.Unit}, {"GPU": resource.Unit / 2}, {"NPU": resource.Unit}})
		c := Class{Need: resource.Set{"CPU": resource.Unit}, Env: "a", Name: "A"}
		w.alternatives(&c, run)
		w.labels(&c)
		if _, ok := c.Strategy.Wishes().Rank(here); !ok {
			w.wrong[id] = true
		}
		m.PlaceActor(id, ids.JobOf(uint32(1+r.IntN(3))), c, run, 0)
	case n < 82 && len(w.actors) > 0:
		m.Leaving(w.anyActor())
	case n < 84 && len(w.actors) > 0:
		w.gone(w.anyActor())
	case n < 86 && w.nextActor > 0:
		id := actorNumber(1 + r.IntN(w.nextActor))
		if m.CancelActor(id) != w.waitingActors[id] {
			w.t.Fatalf("cancelling actor %d disagrees about whether it waits", id.number())
		}
		delete(w.waitingActors, id)
	case n < 95 && len(w.leases) > 0:
		id := w.leases[w.anyLease()].Worker
		if w.blocked[id] {
			m.Unblock(id)
			delete(w.blocked, id)
		} else {
			m.Block(id)
			w.blocked[id] = true
		}
	case n < 97:
		w.untilNext()
	default:
		w.now += time.Duration(r.IntN(8)) * time.Millisecond
		if r.IntN(10) == 0 {
			w.now += IdleTimeout
		}
		m.Advance(w.now)
	}
	w.obey()
}

// untilNext lets time pass until the machine wants to be told of it. Nothing
// happens before, and then it wants to be told of a later time.
func (w *world) untilNext() {
	at, ok := w.m.Next()
	if !ok {
		at = w.now + time.Hour
	}
	if at > w.now {
		w.m.Advance(at - 1)
		if early := w.m.Actions(); len(early) > 0 {
			w.t.Fatalf("at %v, before the time %v of which the machine wants to be told, it orders %v", at-1, at, early)
		}
		w.now = at
	}
	at = w.now
	w.m.Advance(at)
	if next, more := w.m.Next(); more && next <= at {
		w.t.Fatalf("told that it is %v the machine wants to be told that it is %v", at, next)
	}
}

func (w *world) class(id ClassID) Class {
	c := Class{ID: id, Need: pick(w.r, shapes), Env: pick(w.r, []string{"a", "b"}), Name: "f"}
	w.alternatives(&c, nil)
	if w.strategies != nil {
		w.strategies(&c)
	}
	w.labels(&c)
	return c
}

// here are the labels of the node.
var here = map[string]string{"zone": "a"}

// labels has some classes ask for labels.
func (w *world) labels(c *Class) {
	if w.r.IntN(4) == 0 {
		c.Strategy.Labels = pick(w.r, []string{`[[{"zone":"a"}]]`, `[[{"zone":"b"}]]`, `[[{"zone":"b"}],[{"zone":"in(a,c)"}]]`, `[[{"zone":"!a"}]]`, `[[{"zone":"b"}],[]]`})
	}
}

// allows checks that what a demand asks of labels allows this node.
func (w *world) allows(d *demand, a Action) {
	if _, ok := d.class.Strategy.Wishes().Rank(here); !ok {
		w.t.Fatalf("%s: it asks for the labels %s", a, d.class.Strategy.Wishes())
	}
}

// alternatives gives some classes a fallback; what runs is any of the shapes.
func (w *world) alternatives(c *Class, run resource.Set) {
	if w.r.IntN(2) == 0 {
		return
	}
	impossible := resource.Set{"GPU": 5 * resource.Unit}
	if run == nil && w.r.IntN(5) == 0 {
		c.Need = impossible
	}
	for range 1 + w.r.IntN(3) {
		o := Choice{Need: pick(w.r, append(shapes, impossible))}
		if run != nil {
			o.Run = pick(w.r, []resource.Set{{}, o.Need})
		}
		c.Else = append(c.Else, o)
	}
	if w.r.IntN(2) == 0 {
		c.After = time.Duration(1+w.r.IntN(20)) * time.Millisecond
	}
}

func (w *world) anyLease() LeaseID {
	var all []LeaseID
	for id := range w.leases {
		all = append(all, id)
	}
	slices.Sort(all)
	return pick(w.r, all)
}

func (w *world) anyActor() WorkerID {
	var all []WorkerID
	for id := range w.actors {
		all = append(all, id)
	}
	slices.Sort(all)
	return pick(w.r, all)
}

func (w *world) gone(id WorkerID) {
	for l, g := range w.leases {
		if g.Worker == id {
			delete(w.leases, l)
		}
	}
	delete(w.actors, id)
	delete(w.blocked, id)
	delete(w.devices, id)
	w.idleStop = slices.DeleteFunc(w.idleStop, func(o WorkerID) bool { return o == id })
	w.m.WorkerGone(id)
	w.obey()
}

// obey does what the machine orders, and checks each order.
func (w *world) obey() {
	for _, a := range w.m.Actions() {
		w.trace = append(w.trace, a.String())
		if w.elsewhere != nil && w.elsewhere(a) {
			continue
		}
		switch a := a.(type) {
		case StartWorker:
			w.starting = append(w.starting, a.Worker)
		case StopWorker:
			w.idleStop = append(w.idleStop, a.Worker)
			maps.DeleteFunc(w.leases, func(_ LeaseID, g Grant) bool { return g.Worker == a.Worker })
		case Grant:
			if w.m.clients[a.Client] == nil {
				w.t.Fatalf("%s: the client is gone", a)
			}
			w.busy(a.Worker, a)
			w.devices.give(w.t, a.Worker, a.Hold)
			w.sameDevices(a.Worker, a.Hold)
			w.leases[a.Lease] = a
			w.allows(w.m.clients[a.Client].classes[a.Class], a)
			c := w.m.clients[a.Client].classes[a.Class].choices[a.Choice]
			if need, _, _ := resource.Outside(c.Need); !a.Hold.Resources().Equal(need) {
				w.t.Fatalf("%s: the choice needs %s", a, c.Need)
			}
		case StartActor:
			if !w.waitingActors[a.Actor] {
				w.t.Fatalf("%s: it does not wait", a)
			}
			if w.wrong[a.Actor] {
				w.t.Fatalf("%s: it asks for labels that the node does not have", a)
			}
			delete(w.waitingActors, a.Actor)
			w.busy(a.Worker, a)
			w.devices.give(w.t, a.Worker, a.Hold)
			w.sameDevices(a.Worker, a.Hold)
			w.actors[a.Worker] = a.Actor
		case ActorFailed:
			if a.Code != fault.ActorUnschedulable { // else it stays queued
				delete(w.waitingActors, a.Actor)
			}
		case Recall:
			if _, ok := w.leases[a.Lease]; !ok {
				w.t.Fatalf("%s: no such lease", a)
			}
		}
	}
}

// sameDevices checks that a process sees the devices, or their absence, that it saw first.
func (w *world) sameDevices(id WorkerID, hold *resource.Allocation) {
	now := fmt.Sprint(hold.DeviceIDs())
	if then, used := w.first[id]; used && then != now {
		w.t.Fatalf("worker %d was first used with the devices %s and is given %s", id, then, now)
	}
	w.first[id] = now
}

func (w *world) busy(id WorkerID, why Action) {
	for _, g := range w.leases {
		if g.Worker == id {
			w.t.Fatalf("%s: the worker has lease %d", why, g.Lease)
		}
	}
	if _, ok := w.actors[id]; ok || slices.Contains(w.idleStop, id) || slices.Contains(w.starting, id) {
		w.t.Fatalf("%s: the worker is an actor, stopped or not started", why)
	}
}

// held yields what workers and reservations hold, less the CPUs of blocked ones.
func (w *world) held(yield func(*resource.Allocation, resource.Set)) {
	for _, k := range w.m.workers {
		if k.hold == nil {
			continue
		}
		s := k.hold.Resources()
		if k.blocked {
			delete(s, "CPU")
		}
		yield(k.hold, s)
	}
	for _, p := range w.m.pools {
		for _, r := range p.queue {
			yield(r.hold, r.hold.Resources())
			if r.extra != nil {
				yield(r.extra, r.extra.Resources())
			}
		}
	}
}

func (w *world) check() {
	m := w.m
	held := resource.Set{}
	w.held(func(_ *resource.Allocation, s resource.Set) { held.Add(s) })
	held.Add(m.ledger.Free())
	if !held.Equal(m.ledger.Totals()) {
		w.t.Fatalf("held and free make %s, the totals are %s", held, m.ledger.Totals())
	}
	w.checkRest()
}

// checkRest is check without the sums of resources.
func (w *world) checkRest() {
	m := w.m
	cpuLess := 0
	for _, k := range m.workers {
		if k.hold != nil && k.cpuLess && !k.blocked {
			cpuLess++
		}
	}
	starting := 0
	for _, p := range m.pools {
		starting += p.starting
		for _, r := range p.queue {
			if r.cpuLess {
				cpuLess++
			}
		}
	}
	if cpuLess != m.cpuLess || starting != m.starting || m.starting != len(w.starting) {
		w.t.Fatalf("counts: CPU-less %d/%d, starting %d/%d/%d", cpuLess, m.cpuLess, starting, m.starting, len(w.starting))
	}
	leaving := false
	for _, k := range m.workers {
		leaving = leaving || k.leaves && k.hold != nil && m.now-k.endSince < LeavingFor
	}
	for _, d := range m.waiting {
		if m.choose(d) >= 0 {
			w.t.Fatalf("%v waits although it fits", d.class)
		}
		for i, c := range m.openChoices(d) {
			if m.headDecides(d) {
				break
			}
			if m.fits(d, c.Need) && !m.takesFromClaim(d, c.Need) && (i == 0 || !leaving) {
				w.t.Fatalf("%v waits although its choice %d fits", d.class, i)
			}
		}
		if d.outstanding() <= 0 {
			w.t.Fatalf("%v is listed and does not wait", d.class)
		}
		if d.due < 0 || d.due > d.want {
			w.t.Fatalf("%v wants %d, of which %d are due", d.class, d.want, d.due)
		}
	}
	kept := 0
	for _, l := range m.leases {
		if !l.ending() {
			kept++
		}
	}
	n := 0
	for _, j := range m.jobs {
		n += j.leases
	}
	if n != kept {
		w.t.Fatalf("jobs count %d kept leases, there are %d", n, kept)
	}
}

// drain ends everything; all must be free then.
func (w *world) drain() {
	for _, c := range w.clients {
		w.m.RemoveClient(c)
	}
	for j := range uint32(3) {
		w.m.RemoveJob(ids.JobOf(j + 1))
	}
	for id := range w.waitingActors {
		w.m.CancelActor(id)
	}
	for len(w.m.workers) > 0 {
		for id := range w.m.workers {
			w.m.WorkerGone(id)
			break
		}
	}
	if !w.m.Free().Equal(w.m.Totals()) {
		w.t.Fatalf("free at the end: %s of %s", w.m.Free(), w.m.Totals())
	}
	if len(w.m.jobs)+len(w.m.pools)+len(w.m.clients)+len(w.m.leases)+len(w.m.actors)+len(w.m.waiting) != 0 {
		w.t.Fatal("something is left at the end")
	}
}
