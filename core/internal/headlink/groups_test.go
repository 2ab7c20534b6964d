package headlink_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// host is a node with a scheduler, which sets bundles aside.
type host struct {
	*member
	began   time.Time
	mu      sync.Mutex
	machine *sched.Machine
}

func newHost(t testing.TB, number uint32, cpus int64) *host {
	l, err := resource.NewLedger(resource.Set{"CPU": resource.FromInt(cpus)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{
		member:  &member{playedNode: newPlayedNode(), number: number, id: ids.Node{byte(number)}, heard: &counted{n: map[wire.Type]int{}}},
		machine: sched.New(sched.Options{Ledger: l, Cluster: true}), began: time.Now(),
	}
	h.client = headlink.NewClient(headlink.ClientOptions{Number: number, ID: h.id, Node: h, Placed: h, Log: quiet()})
	t.Cleanup(h.client.Close)
	h.client.Stock(h.machine.Stock())
	return h
}

// event gives the scheduler an event, and tells the head what came of it.
func (h *host) event(f func(*sched.Machine)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machine.Advance(time.Since(h.began))
	f(h.machine)
	for _, a := range h.machine.Actions() {
		if b, ok := a.(sched.BundlesPrepared); ok {
			h.client.BundlesPrepared(b, h.machine.Stock())
		}
	}
	h.client.Stock(h.machine.Stock())
}

func (h *host) PrepareBundles(job ids.Job, b sched.Bundles) {
	h.event(func(m *sched.Machine) { m.PrepareBundles(job, b) })
}

func (h *host) OpenBundles(group ids.Group, epoch uint64) {
	h.event(func(m *sched.Machine) { m.CommitBundles(group, epoch) })
}

func (h *host) UndoBundles(group ids.Group, ticket uint64) {
	h.event(func(m *sched.Machine) { m.UnprepareBundles(group, ticket) })
}

func (h *host) DropBundles(group ids.Group) {
	h.event(func(m *sched.Machine) { m.DropBundles(group) })
}

func (h *host) KeptBundles() (list []sched.KeptBundles) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.machine.KeptBundles()
}

// has waits until the node has these open bundles of a group, and none that are not open.
func (h *host) has(t testing.TB, id ids.Group, want ...int) {
	t.Helper()
	until(t, "the node opens and drops bundles", func() bool {
		h.event(func(*sched.Machine) {})
		for _, k := range h.KeptBundles() {
			if k.Group == id && !k.Open {
				return false
			}
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		var open []int
		for _, b := range h.machine.Stock().Bundles {
			if b.ID.Group == id.String() {
				open = append(open, b.ID.Index)
			}
		}
		slices.Sort(open)
		return slices.Equal(open, want)
	})
}

// hosts returns a world with nodes that are connected.
func hosts(t testing.TB, cpus ...int64) (w *world, list []*host) {
	w = newWorld(t, true)
	w.startHead(true)
	for i, n := range cpus {
		h := newHost(t, uint32(i+1), n)
		w.joins(h.member)
		list = append(list, h)
	}
	return w, list
}

func strict(n byte, bundles int) record.Group {
	g := record.Group{ID: ids.Group{n}, Owner: ids.Owner{3: 1, 4: n}, Strategy: "STRICT_SPREAD"}
	for range bundles {
		g.Bundles = append(g.Bundles, record.Bundle{Resources: record.Resources{"CPU": 10000}})
	}
	return g
}

// becomes waits until a group has a state.
func (w *world) becomes(c *headlink.Client, id ids.Group, want record.GroupState) (g record.Group) {
	w.t.Helper()
	type answer struct {
		g          record.Group
		infeasible string
		err        error
	}
	for seen := record.GroupState("none"); ; {
		got := make(chan answer, 1)
		c.AwaitGroup(id, seen, patience, func(g record.Group, infeasible string, err error) { got <- answer{g, infeasible, err} })
		select {
		case a := <-got:
			if a.err != nil {
				w.t.Fatal(a.err)
			}
			if seen = a.g.State; a.infeasible != "" {
				seen = record.GroupInfeasible
			}
			if seen == want {
				return a.g
			}
			if seen == record.GroupRemoved {
				w.t.Fatalf("the group is removed, and was to be %s", want)
			}
		case <-w.ctx.Done():
			w.t.Fatalf("the group is %s, and was to be %s", seen, want)
		}
	}
}

// A group that a node makes gets its nodes, which open its bundles when that is committed. When one of them dies, the others keep theirs, and another node gets the rest. All drop what they
// have when the group is removed.
func TestGroups_MadeMovedAndRemoved_NodesHaveItsBundles(t *testing.T) {
	w, h := hosts(t, 2, 2)
	a, b := h[0], h[1]
	g := strict(1, 2)
	if err := a.client.CreateGroup(w.ctx, g); err != nil {
		t.Fatal(err)
	}
	made := w.becomes(a.client, g.ID, record.GroupCreated)
	if !made.On(a.id) || !made.On(b.id) {
		t.Fatalf("it is on %v", made.Nodes)
	}
	of := slices.Index(made.Nodes, a.id)
	a.has(t, g.ID, of)
	b.has(t, g.ID, 1-of)
	w.head.NodeDied(b.id, "it was unplugged")
	w.becomes(a.client, g.ID, record.GroupRescheduling)
	w.server.Forget(b.number)
	w.server.ReplacementLate() // no other node has come for a while
	w.becomes(a.client, g.ID, record.GroupInfeasible)
	c := newHost(t, 3, 1)
	w.joins(c.member)
	if moved := w.becomes(a.client, g.ID, record.GroupCreated); moved.NodeOf(of) != a.id || moved.NodeOf(1-of) != c.id || moved.Epoch != 2 {
		t.Errorf("it is on %v in epoch %d", moved.Nodes, moved.Epoch)
	}
	a.has(t, g.ID, of)
	c.has(t, g.ID, 1-of)
	if err := a.client.RemoveGroup(w.ctx, g.ID); err != nil {
		t.Fatal(err)
	}
	a.has(t, g.ID)
	c.has(t, g.ID)
	if n := w.server.Sizes(); n["groups"] != 0 {
		t.Errorf("the head has %v", n)
	}
}

// A bundle may ask for labels of its node. A node that has them gets it, also when it comes later, and when its record comes after what it has free.
func TestGroups_BundleAsksForLabels_GetsANodeThatHasThem(t *testing.T) {
	w, h := hosts(t, 4)
	a := h[0]
	g := strict(1, 2)
	g.Bundles[1].Labels = map[string]string{"zone": "in(b,c)"}
	if err := a.client.CreateGroup(w.ctx, g); err != nil {
		t.Fatal(err)
	}
	w.becomes(a.client, g.ID, record.GroupInfeasible)
	for n, zone := range map[uint32]string{2: "a", 3: "b"} {
		b := newHost(t, n, 1)
		w.meets(b.member)
		until(t, "the head hears what the node has", func() bool { return b.heard.of(linkmsg.TStock) > 0 })
		if err := b.client.RegisterNode(w.ctx, record.Node{ID: b.id, Address: "a", Number: n, Labels: map[string]string{"zone": zone}}); err != nil {
			t.Fatal(err)
		}
	}
	if made := w.becomes(a.client, g.ID, record.GroupCreated); made.NodeOf(1) != (ids.Node{3}) || made.NodeOf(0) == (ids.Node{3}) {
		t.Errorf("it is on %v", made.Nodes)
	}
}

// A node has no room, so it refuses after a while: the other one drops what it has set aside.
func TestGroups_ANodeRefuses_TheOtherOneDropsItsBundles(t *testing.T) {
	w, h := hosts(t, 1, 1)
	a, b := h[0], h[1]
	other := strict(9, 1)
	b.event(func(m *sched.Machine) { // something that the head does not know yet
		m.PrepareBundles(ids.JobOf(1), sched.Bundles{Group: other.ID, Epoch: 1, Index: []int{0}, Needs: []resource.Set{oneCPU}})
		m.Actions()
	})
	g := strict(1, 2)
	if err := a.client.CreateGroup(w.ctx, g); err != nil {
		t.Fatal(err)
	}
	until(t, "the node with room sets its bundle aside", func() bool { return len(a.KeptBundles()) == 1 })
	until(t, "and drops it", func() bool { b.event(func(*sched.Machine) {}); return len(a.KeptBundles()) == 0 })
	b.event(func(m *sched.Machine) { m.DropBundles(other.ID) })
	until(t, "then there is room", func() bool {
		g, err := a.client.Group(w.ctx, g.ID)
		b.event(func(*sched.Machine) {})
		return err == nil && g.State == record.GroupCreated
	})
}

// Another process of the head does not know what the one before had ordered. Each node says what it has, and is told to open what is committed and to drop what nobody wants.
func TestGroups_AnotherHead_NodesOpenWhatIsCommittedAndDropTheRest(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	h := newHost(t, 1, 8)
	elsewhere, lost := ids.Node{2}, ids.Node{3}
	if err := errors.Join(w.state.RegisterNode(w.ctx, record.Node{ID: h.id, Number: 1}), w.state.RegisterNode(w.ctx, record.Node{ID: elsewhere, Number: 2}), w.state.RegisterNode(w.ctx, record.Node{ID: lost, Number: 3})); err != nil {
		t.Fatal(err)
	}
	kept := func(n byte, epoch, ticket uint64, open bool, index ...int) {
		h.event(func(m *sched.Machine) {
			b := sched.Bundles{Group: ids.Group{n}, Epoch: epoch, Index: index, Ticket: ticket}
			for range index {
				b.Needs = append(b.Needs, oneCPU)
			}
			m.PrepareBundles(ids.JobOf(1), b)
			m.Actions()
			if open {
				m.CommitBundles(b.Group, epoch)
			}
		})
	}
	group := func(g record.Group, nodes ...ids.Node) {
		err := w.state.CreateGroup(w.ctx, g)
		if err == nil && nodes != nil {
			err = w.state.PlaceGroup(w.ctx, g.ID, 1, nodes, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kept(1, 1, 101, false, 0) // nobody knows the group
	kept(2, 1, 102, false, 0) // it is committed, and the order to open it was lost
	group(strict(2, 1), h.id)
	kept(3, 1, 103, true, 0) // the order to drop it was lost
	group(strict(3, 1), h.id)
	if err := w.state.RemoveGroup(w.ctx, ids.Group{3}, "by hand", 1); err != nil {
		t.Fatal(err)
	}
	kept(4, 1, 104, false, 0) // another attempt was committed
	group(strict(4, 1), elsewhere)
	kept(5, 1, 105, true, 0) // it has bundle 0 since epoch 1, and an attempt of epoch 2 to have bundle 1 there has failed
	group(strict(5, 2), h.id, lost)
	if err := errors.Join(w.state.NodeDead(w.ctx, lost, "gone", 1), w.state.PlaceGroup(w.ctx, ids.Group{5}, 2, []ids.Node{h.id, elsewhere}, 1)); err != nil {
		t.Fatal(err)
	}
	kept(5, 2, 106, false, 1)
	kept(6, 1, 107, false, 0) // nodes are still to be found
	group(strict(6, 1))
	kept(7, 1, 108, true, 0) // all is well
	group(strict(7, 1), h.id)
	w.restartHead()
	w.joins(h.member)
	h.has(t, ids.Group{2}, 0)
	for _, n := range []byte{1, 3, 4} {
		h.has(t, ids.Group{n})
	}
	h.has(t, ids.Group{5}, 0)
	h.has(t, ids.Group{7}, 0)
	if g := w.becomes(h.client, ids.Group{6}, record.GroupCreated); !g.On(h.id) {
		t.Errorf("the group that waited is on %v", g.Nodes)
	}
	h.has(t, ids.Group{6}, 0)
}

// A group has lost a node when another head begins. The rest of it stays where it is.
func TestGroups_AnotherHead_GoesOnToFindNodesForTheRest(t *testing.T) {
	w := newWorld(t, true)
	w.startHead(true)
	h, lost, g := newHost(t, 1, 8), ids.Node{3}, strict(1, 2)
	if err := errors.Join(w.state.RegisterNode(w.ctx, record.Node{ID: h.id, Number: 1}), w.state.RegisterNode(w.ctx, record.Node{ID: lost, Number: 3}), w.state.CreateGroup(w.ctx, g),
		w.state.PlaceGroup(w.ctx, g.ID, 1, []ids.Node{h.id, lost}, 1), w.state.NodeDead(w.ctx, lost, "gone", 1)); err != nil {
		t.Fatal(err)
	}
	h.event(func(m *sched.Machine) {
		m.PrepareBundles(ids.JobOf(1), sched.Bundles{Group: g.ID, Epoch: 1, Index: []int{0}, Needs: []resource.Set{oneCPU}})
		m.CommitBundles(g.ID, 1)
		m.Actions()
	})
	for range 3 { // each time another process
		w.restartHead()
	}
	w.joins(h.member)
	w.becomes(h.client, g.ID, record.GroupInfeasible)
	other := newHost(t, 4, 1)
	w.joins(other.member)
	if made := w.becomes(h.client, g.ID, record.GroupCreated); made.NodeOf(0) != h.id || made.NodeOf(1) != other.id {
		t.Errorf("it is on %v", made.Nodes)
	}
	h.has(t, g.ID, 0)
	other.has(t, g.ID, 1)
}

// Who waits for a group goes on waiting when the connection is cut, and when the head is another process. Answers come once, and a question can be ended.
func TestGroups_AwaitedOverReconnections_IsAnsweredOnce(t *testing.T) {
	w, h := hosts(t, 1)
	a := h[0]
	g := strict(1, 2)
	if err := a.client.CreateGroup(w.ctx, g); err != nil {
		t.Fatal(err)
	}
	w.becomes(a.client, g.ID, record.GroupInfeasible)
	answers := make(chan record.Group, 100)
	ask := func(id ids.Group, seen record.GroupState) func() bool {
		return a.client.AwaitGroup(id, seen, patience, func(g record.Group, infeasible string, err error) {
			if err != nil || infeasible != "" {
				t.Errorf("%q, %v", infeasible, err)
			}
			answers <- g
		})
	}
	ask(g.ID, record.GroupInfeasible)
	ask(ids.Group{2}, "") // comes later
	cancel := ask(g.ID, record.GroupInfeasible)
	until(t, "the head waits", func() bool { return w.server.Served() == 3 })
	if !cancel() || cancel() {
		t.Error("a question is ended once")
	}
	a.peer.Close()
	until(t, "the connection has ended", func() bool { return w.server.Connections() == 0 })
	w.joins(a.member)
	until(t, "the head waits again", func() bool { return w.server.Served() == 2 })
	if err := a.client.RemoveGroup(w.ctx, g.ID); err != nil {
		t.Fatal(err)
	}
	if got := receiveGroup(w, answers); got.ID != g.ID || got.State != record.GroupRemoved {
		t.Errorf("told is %+v", got)
	}
	w.restartHead()
	w.joins(a.member)
	until(t, "the next head waits", func() bool { return w.server.Served() == 1 })
	if err := a.client.CreateGroup(w.ctx, strict(2, 1)); err != nil {
		t.Fatal(err)
	}
	if got := receiveGroup(w, answers); got.ID != (ids.Group{2}) || got.State != record.GroupCreated {
		t.Errorf("told is %+v", got)
	}
	if len(answers) != 0 || a.client.Asked() != 0 {
		t.Errorf("%d more answers, %d questions are left", len(answers), a.client.Asked())
	}
}

func receiveGroup(w *world, c <-chan record.Group) (g record.Group) {
	w.t.Helper()
	select {
	case g = <-c:
	case <-w.ctx.Done():
		w.t.Fatal("nobody is told")
	}
	return g
}

// Orders about bundles that cannot be read, or that no head gives, change nothing, and those after them are carried out.
func TestGroups_OrdersThatCannotBe_AreSkipped(t *testing.T) {
	w, h := hosts(t, 4)
	a := h[0]
	_ = w
	need := []map[string]int64{{"CPU": 10000}}
	for what, o := range map[string]*linkmsg.Told{
		"text":                {Kind: linkmsg.PrepareBundles, Body: encoded(t, "text")},
		"no bundles":          {Kind: linkmsg.PrepareBundles, Body: encoded(t, &linkmsg.Bundles{})},
		"fewer needs":         {Kind: linkmsg.PrepareBundles, Body: encoded(t, &linkmsg.Bundles{Index: []int{0, 1}, Needs: need})},
		"a negative index":    {Kind: linkmsg.PrepareBundles, Body: encoded(t, &linkmsg.Bundles{Index: []int{-1}, Needs: need})},
		"a negative need":     {Kind: linkmsg.PrepareBundles, Body: encoded(t, &linkmsg.Bundles{Index: []int{0}, Needs: []map[string]int64{{"CPU": -1}}})},
		"a negative time":     {Kind: linkmsg.PrepareBundles, Body: encoded(t, &linkmsg.Bundles{Index: []int{0}, Needs: need, ForMs: -1})},
		"text for a group":    {Kind: linkmsg.DropBundles, Body: encoded(t, "text")},
		"an order of a later": {Kind: "later", Body: encoded(t, &linkmsg.GroupRef{})},
	} {
		if err := a.client.CarryOut(o); err == nil {
			t.Errorf("%s is carried out", what)
		}
	}
	if n := len(a.KeptBundles()); n != 0 {
		t.Errorf("%d bundles are set aside", n)
	}
	good := &linkmsg.Told{Kind: linkmsg.PrepareBundles, Body: encoded(t, &linkmsg.Bundles{Group: linkmsg.GroupRef{ID: ids.Group{1}, Epoch: 1, Ticket: 3}, Index: []int{0}, Needs: need})}
	if err := a.client.CarryOut(good); err != nil || len(a.KeptBundles()) != 1 {
		t.Errorf("a good one: %v", err)
	}
}
