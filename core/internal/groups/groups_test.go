package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// limit is how long a test waits for what must come.
const limit = 60 * time.Second

var it = ids.Group{1}

// question is one that a head was asked.
type question struct {
	seen record.GroupState
	done func(record.Group, string, error)
}

// asked is a head that is asked for one group, and answers when the test does.
type asked struct {
	inquiry.Head
	t         *testing.T
	questions chan question
}

func (h *asked) AwaitGroup(id ids.Group, seen record.GroupState, _ time.Duration, done func(record.Group, string, error)) func() bool {
	if id != it {
		h.t.Errorf("asked for %s", id)
	}
	h.questions <- question{seen, done}
	return func() bool { return true }
}

// node is a scheduler with a client that has a class in the group.
type node struct {
	t       *testing.T
	mu      sync.Mutex
	m       *sched.Machine
	groups  *Groups
	head    *asked
	failed  chan sched.ClassFailed
	answers chan sched.BundlesPrepared
}

func (n *node) BundlesPrepared(a sched.BundlesPrepared, s resource.Stock) {
	if s.Totals["CPU"] != 2*resource.Unit {
		n.t.Errorf("the stock is %+v", s)
	}
	n.answers <- a
}

func (n *node) event(f func(*sched.Machine)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.m)
	for _, a := range n.m.Actions() {
		if n.groups.CarryOut(a, n.m) {
			continue
		}
		if x, ok := a.(sched.ClassFailed); ok {
			n.failed <- x
		}
	}
}

func (n *node) wants() {
	n.event(func(m *sched.Machine) { m.Want(1, 1, 1) })
}

func (n *node) next() question {
	n.t.Helper()
	select {
	case q := <-n.head.questions:
		return q
	case <-time.After(limit):
		n.t.Fatal("the head is not asked")
	}
	return question{}
}

func (n *node) fails(code fault.Code, says string) {
	n.t.Helper()
	select {
	case f := <-n.failed:
		if f.Code != code || !strings.Contains(f.Message, says) {
			n.t.Errorf("the class fails with %+v, want %s and %q", f, code, says)
		}
	case <-time.After(limit):
		n.t.Fatal("the class does not fail")
	}
}

func newNode(t *testing.T) *node {
	l, err := resource.NewLedger(resource.Set{"CPU": 2 * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, m: sched.New(sched.Options{Ledger: l}), failed: make(chan sched.ClassFailed, 9), answers: make(chan sched.BundlesPrepared, 9)}
	n.head = &asked{t: t, questions: make(chan question, 9)}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	n.groups = New(Options{Context: ctx, Answers: n, Event: n.event, Head: func(ctx context.Context) (inquiry.Head, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return n.head, nil
	}})
	s := strategy.Strategy{Kind: strategy.Group, Group: it}
	n.event(func(m *sched.Machine) {
		m.AddClient(1, ids.JobOf(1))
		m.DefineClass(1, sched.Class{ID: 1, Name: "f", Strategy: s, Need: Need(s, map[string]int64{"CPU": 10000})})
	})
	return n
}

// A group is followed from the first task that waits for it until its removal. What is said of it reaches what waits, each time with its code.
func TestGroups_Followed_WhatWaitsHearsOfIt(t *testing.T) {
	n := newNode(t)
	n.wants()
	q := n.next()
	if q.seen != record.GroupPending {
		t.Errorf("seen is %q at first", q.seen)
	}
	q.done(record.Group{ID: it, State: record.GroupPending}, "it is too large", nil)
	n.fails(fault.PlacementGroupUnschedulable, "it is too large")
	if q = n.next(); q.seen != record.GroupInfeasible {
		t.Errorf("then seen is %q", q.seen)
	}
	n.wants()
	n.fails(fault.PlacementGroupUnschedulable, "it is too large")
	q.done(record.Group{ID: it, State: record.GroupPending}, "", nil) // a node has come
	if q = n.next(); q.seen != record.GroupPending {
		t.Errorf("then seen is %q", q.seen)
	}
	n.wants()
	q.done(record.Group{ID: it, State: record.GroupRescheduling}, "", nil)
	if q = n.next(); q.seen != record.GroupRescheduling {
		t.Errorf("then seen is %q", q.seen)
	}
	q.done(record.Group{}, "", fault.New(fault.HeadUnavailable, "no path"))
	if q = n.next(); q.seen != record.GroupRescheduling {
		t.Errorf("after a question without an answer seen is %q", q.seen)
	}
	q.done(record.Group{ID: it, State: record.GroupRemoved, Why: "by hand"}, "", nil)
	n.fails(fault.PlacementGroupRemoved, "was removed: by hand")
	n.wants() // it is followed anew
	n.next().done(record.Group{}, "", fmt.Errorf("it: %w", record.ErrNotFound))
	n.fails(fault.PlacementGroupRemoved, "is not known")
	if len(n.head.questions) != 0 || len(n.failed) != 0 {
		t.Errorf("%d more questions, %d more failures", len(n.head.questions), len(n.failed))
	}
}

func TestGroups_NodeEnds_NobodyIsAsked(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	n.groups.o.Context = ctx
	n.groups.follow(it, record.GroupPending)
	if len(n.head.questions) != 0 {
		t.Error("the head is asked by a node that ends")
	}
}

// reports notes what a head is told.
type reports struct{ list []string }

func (r *reports) GroupPrepared(id ids.Group, epoch uint64, nodes []ids.Node) {
	r.list = append(r.list, fmt.Sprintf("prepared %x#%d on %d", id[0], epoch, len(nodes)))
	for _, n := range nodes {
		if n != (ids.Node{7}) {
			r.list = append(r.list, fmt.Sprintf("on %s", n))
		}
	}
}

func (r *reports) GroupInfeasible(id ids.Group, message string) {
	r.list = append(r.list, fmt.Sprintf("infeasible %x: %s", id[0], message))
}

// A head that has one node only has it set all bundles aside, and open and drop them.
func TestLocal_OnlyNode_HasAllBundles(t *testing.T) {
	l, err := resource.NewLedger(resource.Set{"CPU": 4 * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, r := sched.New(sched.Options{Ledger: l}), &reports{}
	local := &Local{Node: ids.Node{7}, Head: r}
	g := New(Options{Answers: local})
	local.Event = func(f func(*sched.Machine)) {
		f(m)
		for _, a := range m.Actions() {
			if !g.CarryOut(a, m) {
				t.Errorf("%s", a)
			}
		}
	}
	group := func(n byte, strategy string, waits bool, cpus ...int64) record.Group {
		rec := record.Group{ID: ids.Group{n}, Epoch: 1, Strategy: strategy, Waits: waits}
		for _, c := range cpus {
			rec.Bundles = append(rec.Bundles, record.Bundle{Resources: record.Resources{"CPU": c * 10000}})
		}
		return rec
	}
	says := func(step string, want ...string) {
		t.Helper()
		got := r.list
		r.list = nil
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	first := group(1, "PACK", false, 1, 2)
	local.PlaceGroup(first)
	says("there is room", "prepared 1#1 on 2")
	local.PlaceGroup(group(2, "SPREAD", false, 1, 1))
	says("there is no room")
	local.PlaceGroup(group(3, "PACK", false, 5))
	says("too large", "infeasible 3: placement group 030000000000000000000000000000000000 can never be placed: bundle 0 needs")
	local.PlaceGroup(group(4, "STRICT_SPREAD", false, 1, 1))
	says("there is one node", "infeasible 4: placement group 04")
	local.PlaceGroup(group(5, "PACK", true, 5))
	says("it waits for a larger cluster")
	local.PlaceGroup(group(6, "pack", false, 1))
	says("another strategy", "infeasible 6: placement strategy")
	local.OpenGroup(first)
	if free := m.Free(); free["CPU_group_1_"+first.ID.String()] != 2*resource.Unit || free["CPU"] != resource.Unit {
		t.Errorf("free: %s", free)
	}
	local.RetryGroup(first.ID, 1)
	local.DropGroup(first)
	says("the first is removed", "prepared 2#1 on 2")
	for _, n := range []byte{2, 5} {
		local.DropGroup(group(n, "PACK", false))
	}
	if free := m.Free(); !free.Equal(resource.Set{"CPU": 4 * resource.Unit}) || len(m.KeptBundles()) != 0 {
		t.Errorf("free: %s, kept %v", free, m.KeptBundles())
	}
	says("the others are")
}

// The only node has labels, which do not change. A group that asks for others is told so, however long it would wait for a larger cluster.
func TestLocal_BundleAsksForLabels_TheNodeHasThemOrNot(t *testing.T) {
	l, err := resource.NewLedger(resource.Set{"CPU": 4 * resource.Unit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, r := sched.New(sched.Options{Ledger: l}), &reports{}
	local := &Local{Node: ids.Node{7}, Labels: map[string]string{"zone": "a"}, Head: r}
	g := New(Options{Answers: local})
	local.Event = func(f func(*sched.Machine)) {
		f(m)
		for _, a := range m.Actions() {
			g.CarryOut(a, m)
		}
	}
	for asked, want := range map[string]string{
		"zone=a": "prepared", "zone=b": "infeasible", "zone=!b": "prepared", "other=!in(x,y)": "prepared", "other=x": "infeasible", "zone=": "infeasible", "ray.io/node-id=" + local.Node.String(): "prepared",
	} {
		name, condition, _ := strings.Cut(asked, "=")
		rec := record.Group{ID: ids.Group{1}, Epoch: 1, Strategy: "PACK", Waits: true, Bundles: []record.Bundle{{Resources: record.Resources{"CPU": 10000}, Labels: map[string]string{name: condition}}}}
		r.list = nil
		local.PlaceGroup(rec)
		if len(r.list) != 1 || !strings.HasPrefix(r.list[0], want) {
			t.Errorf("%s: %q", asked, r.list)
		}
		local.DropGroup(rec)
	}
}

func TestNeed_OfWorkInAGroup_HasTheNamesOfItsBundle(t *testing.T) {
	in := strategy.Strategy{Kind: strategy.Group, Group: it, Bundle: 3}
	need := Need(in, map[string]int64{"CPU": 10000, "x": 0})
	if inside, id, ok := resource.Outside(need); !ok || id.Index != 3 || id.Group != it.String() || inside["CPU"] != resource.Unit || need["CPU"] != 0 {
		t.Errorf("in a group: %s", need)
	}
	if got := Wire(in, map[string]int64{"CPU": 10000}); got["CPU_group_3_"+it.String()] != 10000 || len(got) != 2 {
		t.Errorf("in a record: %v", got)
	}
	plain := map[string]int64{"CPU": 10000}
	if got := Need(strategy.Strategy{}, plain); !got.Equal(resource.Set{"CPU": resource.Unit}) {
		t.Errorf("in none: %s", got)
	}
	if got := Wire(strategy.Strategy{Kind: strategy.Spread}, plain); len(got) != 1 || got["CPU"] != 10000 {
		t.Errorf("in none, in a record: %v", got)
	}
}

func TestRecord_OfARequest_OrWhatIsWrong(t *testing.T) {
	job := ids.JobOf(5)
	by := Maker{Job: job, Namespace: "of the job", Owner: ids.Owner{1}, Actor: ids.Actor{2}, Lasting: true}
	id, alien := ids.NewGroup(job), ids.NewGroup(ids.JobOf(6))
	good := wire.GroupCreate{GroupID: id[:], Name: "n", Strategy: "SPREAD", Bundles: []wire.GroupBundle{{Resources: map[string]int64{"CPU": 1}, Labels: map[string]string{"l": "m"}}}}
	make := func(by Maker, change func(*wire.GroupCreate)) (record.Group, error) {
		t.Helper()
		q := good
		change(&q)
		b, err := msgpack.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		return Record(by, &wire.Message{Type: wire.TGroupCreate, Body: b})
	}
	g, err := make(by, func(*wire.GroupCreate) {})
	if err != nil || g.ID != id || g.Job != job || g.Name != "n" || g.Namespace != "of the job" || g.Owner != by.Owner || g.Actor != by.Actor || g.Detached || !g.Lasting || g.Waits || g.Strategy != "SPREAD" ||
		len(g.Bundles) != 1 || g.Bundles[0].Resources["CPU"] != 1 || g.Bundles[0].Labels["l"] != "m" || g.CreatedMs == 0 {
		t.Errorf("%+v, %v", g, err)
	}
	waits := by
	waits.Waits = true
	for _, g := range []func() (record.Group, error){
		func() (record.Group, error) { return make(waits, func(*wire.GroupCreate) {}) },
		func() (record.Group, error) { return make(by, func(q *wire.GroupCreate) { q.Waits = true }) },
	} {
		if g, err := g(); err != nil || !g.Waits {
			t.Errorf("%+v, %v: it waits for a larger cluster", g, err)
		}
	}
	if g, err := make(by, func(q *wire.GroupCreate) { q.Namespace, q.Detached = "other", true }); err != nil || g.Namespace != "other" || !g.Detached {
		t.Errorf("%+v, %v", g, err)
	}
	for says, change := range map[string]func(*wire.GroupCreate){
		"has 18 bytes":                  func(q *wire.GroupCreate) { q.GroupID = q.GroupID[1:] },
		"its id belongs to another job": func(q *wire.GroupCreate) { q.GroupID = alien[:] },
		"placement strategy \"\"":       func(q *wire.GroupCreate) { q.Strategy = "" },
		"has 0 bundles":                 func(q *wire.GroupCreate) { q.Bundles = nil },
		"bundle 0: label l": func(q *wire.GroupCreate) {
			q.Bundles = []wire.GroupBundle{{Resources: map[string]int64{"CPU": 1}, Labels: map[string]string{"l": "in("}}}
		},
	} {
		if _, err := make(by, change); fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error with %q", err, says)
		}
	}
	if _, err := Record(by, &wire.Message{Type: wire.TGroupCreate, Body: []byte{0xc1}}); err == nil || errors.Is(err, record.ErrInvalid) {
		t.Errorf("what is no request: %v", err)
	}
}
