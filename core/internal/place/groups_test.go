package place

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// asking is a machine with nodes that know placement groups. The test plays the nodes and the head.
type asking struct {
	*Machine
	t *testing.T
}

func newAsking(t *testing.T, cpus ...int64) *asking {
	t.Helper()
	a := &asking{New(Options{}), t}
	for i, n := range cpus {
		a.comes(Node(i+1), n)
	}
	return a
}

// comes has a node connect on which all is free.
func (a *asking) comes(id Node, cpus int64) {
	a.NodeUp(id)
	a.Speaks(id, GroupsSince)
	a.reports(id, cpus, cpus)
}

func (a *asking) reports(id Node, totals, free int64) {
	a.t.Helper()
	s := resource.Stock{Totals: resource.Set{"CPU": resource.FromInt(totals)}, Free: resource.Set{"CPU": resource.FromInt(free)}}
	if err := a.Report(id, s); err != nil {
		a.t.Fatal(err)
	}
}

// does compares what the machine orders with these lines.
func (a *asking) does(step string, want ...string) {
	a.t.Helper()
	var got []string
	for _, x := range a.Actions() {
		got = append(got, x.String())
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("%s:\n%s\nwant:\n%s", step, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// asks returns what the machine asks nodes to set aside, by the node, and fails the test if it orders anything else.
func (a *asking) asks(step string) map[Node]Prepare {
	a.t.Helper()
	all := map[Node]Prepare{}
	for _, x := range a.Actions() {
		p, ok := x.(Prepare)
		if !ok {
			a.t.Fatalf("%s: %s", step, x)
		}
		all[p.Node] = p
	}
	return all
}

// refuses has a node say that it does not set bundles aside, and what it has free.
func (a *asking) refuses(p Prepare, totals, free int64) {
	a.t.Helper()
	a.answers(p.Node, p.Group, p.Ticket, totals, free, false)
}

// answers has a node say whether it has set bundles aside, and what it has free.
func (a *asking) answers(from Node, id ids.Group, t Ticket, totals, free int64, ok bool) {
	a.t.Helper()
	s := resource.Stock{Totals: resource.Set{"CPU": resource.FromInt(totals)}, Free: resource.Set{"CPU": resource.FromInt(free)}}
	if err := a.Settled(from, t, 0, &s); err != nil {
		a.t.Fatal(err)
	}
	a.Prepared(from, id, t, ok)
}

// none holds that nothing is left of groups.
func (a *asking) none() {
	a.t.Helper()
	if s := a.Sizes(); s["groups"] != 0 || s["tickets"] != 0 || len(a.waitingGroups) != 0 {
		a.t.Errorf("at the end the tables are %v, and %d groups wait", s, len(a.waitingGroups))
	}
	for _, n := range a.nodes {
		if n.ledger != nil && len(n.tickets) > 0 {
			a.t.Errorf("node %d has the debits of %d tickets", n.id, len(n.tickets))
		}
	}
}

// groupOf makes a group of bundles with so many CPUs.
func groupOf(n byte, s packing.Strategy, cpus ...int64) Group {
	g := Group{ID: ids.Group{n}, Epoch: 1, Name: fmt.Sprintf("group %d", n), Strategy: s, At: make([]Node, len(cpus))}
	for _, c := range cpus {
		g.Bundles = append(g.Bundles, resource.Set{"CPU": resource.FromInt(c)})
	}
	return g
}

// at says which nodes have bundles of a group already.
func (g Group) at(epoch uint64, nodes ...Node) Group {
	g.Epoch, g.At = epoch, nodes
	return g
}

func TestGroup_AllNodesHaveAnswered_IsPrepared(t *testing.T) {
	a := newAsking(t, 2, 2)
	a.PlaceGroup(groupOf(1, packing.Spread, 2, 2))
	a.does("both are asked", "node 1 prepares bundles [0] of group 1#1, ticket 1", "node 2 prepares bundles [1] of group 1#1, ticket 2")
	a.PlaceGroup(groupOf(1, packing.Spread, 2, 2)) // once more
	if n := a.AskedFor(ids.Group{1}); !slices.Equal(n, []Node{1, 2}) {
		t.Errorf("asked are %v", n)
	}
	a.PlaceGroup(groupOf(2, packing.Pack, 1))
	a.does("what was asked for is debited")
	a.answers(1, ids.Group{1}, 1, 2, 0, true)
	a.Prepared(1, ids.Group{1}, 1, true) // again
	a.Prepared(2, ids.Group{1}, 1, true) // with the ticket of the other node
	a.Prepared(2, ids.Group{9}, 2, true)
	a.does("one has answered")
	a.answers(2, ids.Group{1}, 2, 2, 0, true)
	a.does("both have", "prepared group 1#1 on [1 2]")
	a.GroupGone(ids.Group{1}, 1)
	a.GroupGone(ids.Group{2}, 1)
	a.none()
}

// One node refuses: the other drops what it has set aside, and the group gets other nodes as soon as there is room. A late answer about the first attempt changes nothing.
func TestGroup_ANodeRefuses_TheOthersUndoAndItIsTriedAgain(t *testing.T) {
	a := newAsking(t, 2, 2)
	a.PlaceGroup(groupOf(1, packing.StrictSpread, 2, 2))
	first := a.asks("placed")
	a.Prepared(1, ids.Group{1}, first[1].Ticket, true)
	a.refuses(first[2], 2, 0)
	a.does("node 2 refuses", "node 1 drops what it prepared for group 1, ticket 1")
	a.reports(1, 2, 2)
	a.comes(3, 2)
	a.does("another node comes", "node 1 prepares bundles [1] of group 1#1, ticket 3", "node 3 prepares bundles [0] of group 1#1, ticket 4")
	a.Prepared(2, ids.Group{1}, first[2].Ticket, true)
	a.Prepared(1, ids.Group{1}, first[1].Ticket, false)
	a.does("answers to what was taken back")
	a.Prepared(3, ids.Group{1}, 4, true)
	a.Prepared(1, ids.Group{1}, 3, true)
	a.does("all have", "prepared group 1#1 on [3 1]")
	a.GroupGone(ids.Group{1}, 1)
	a.none()
}

// A node that falls silent before it has answered is not waited for. When it is back it drops what it may have set aside.
func TestGroup_ANodeIsSilentBeforeItsAnswer_OthersAreAsked(t *testing.T) {
	for name, silence := range map[string]func(*asking){
		"its connection ends": func(a *asking) { a.NodeSilent(2) }, "it is in doubt": func(a *asking) { a.Suspect(2, true) }, "it is dead": func(a *asking) { a.NodeGone(2) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsking(t, 1, 3, 3)
			a.reports(3, 3, 2)
			a.PlaceGroup(groupOf(1, packing.StrictSpread, 3, 1))
			first := a.asks("placed")
			if len(first) != 2 || first[2].Ticket == 0 {
				t.Fatalf("asked are %v", first)
			}
			for id, p := range first {
				if id != 2 {
					a.Prepared(id, ids.Group{1}, p.Ticket, true)
				}
			}
			silence(a)
			undone := map[Node]bool{}
			for _, x := range a.Actions() {
				u, ok := x.(Unprepare)
				if !ok || u.Ticket != first[u.Node].Ticket {
					t.Fatalf("then: %s", x)
				}
				undone[u.Node] = true
			}
			if alive := a.nodes[2] != nil; undone[2] != alive || len(undone) == 0 || alive && len(undone) != 2 {
				t.Errorf("undone is %v", undone)
			}
			a.comes(4, 3)
			if again := a.asks("another node comes"); len(again) != 2 || again[4].Ticket == 0 {
				t.Errorf("asked are %v", again)
			}
			a.GroupGone(ids.Group{1}, 1)
			a.none()
		})
	}
}

// When all nodes have answered, the group is about to be committed. Whatever happens to a node then, nothing is taken back until it is known what became of that:
// else nodes would drop bundles of a group that is CREATED.
func TestGroup_ANodeIsSilentOrDeadAfterAllAnswers_NothingIsTakenBack(t *testing.T) {
	prepared := func(t *testing.T) *asking {
		a := newAsking(t, 2, 2)
		a.PlaceGroup(groupOf(1, packing.StrictSpread, 2, 2))
		for id, p := range a.asks("placed") {
			a.Prepared(id, ids.Group{1}, p.Ticket, true)
		}
		a.does("prepared", "prepared group 1#1 on [2 1]")
		a.reports(1, 2, 0)
		a.NodeSilent(2)
		a.NodeUp(2)
		a.reports(2, 2, 0)
		a.Suspect(2, true)
		a.NodeGone(2)
		a.comes(3, 2)
		a.does("a node is silent, and dies, and another comes")
		return a
	}
	t.Run("it could not be committed", func(t *testing.T) {
		a := prepared(t)
		a.RetryGroup(ids.Group{1}, 7)
		a.RetryGroup(ids.Group{2}, 1)
		a.does("another epoch, and another group")
		a.RetryGroup(ids.Group{1}, 1)
		a.does("it could not be committed", "node 1 drops what it prepared for group 1, ticket 1")
		a.RetryGroup(ids.Group{1}, 1)
		a.does("once more, when there is no attempt")
		a.reports(1, 2, 2)
		if again := a.asks("node 1 has room again"); len(again) != 2 || again[1].Ticket == 0 || again[3].Ticket == 0 {
			t.Errorf("asked are %v", again)
		}
		a.GroupGone(ids.Group{1}, 1)
		a.none()
	})
	t.Run("it could not be committed, and there are too few nodes", func(t *testing.T) {
		a := prepared(t)
		a.NodeGone(3)
		a.RetryGroup(ids.Group{1}, 1)
		if list := a.Actions(); len(list) != 2 || !strings.HasPrefix(list[1].String(), "infeasible group 1") {
			t.Errorf("then: %v", list)
		}
	})
	t.Run("it was committed", func(t *testing.T) {
		a := prepared(t)
		a.GroupGone(ids.Group{1}, 1)
		a.does("it is committed")
		a.none()
		a.PlaceGroup(groupOf(1, packing.StrictSpread, 2, 2).at(2, 0, 1))
		a.does("what the dead node had goes elsewhere", "node 3 prepares bundles [0] of group 1#2, ticket 3")
	})
	t.Run("the words that it was committed were missed", func(t *testing.T) {
		a := prepared(t)
		a.PlaceGroup(groupOf(1, packing.StrictSpread, 2, 2).at(2, 0, 1))
		a.does("node 1 keeps what it has", "node 3 prepares bundles [0] of group 1#2, ticket 3")
	})
}

// A node dies that had a bundle of a group from before, while other nodes are asked: what these have set aside is dropped, since they may not be asked again.
func TestGroup_ALaterEpoch_UndoesTheAttemptOfTheEarlierOne(t *testing.T) {
	a := newAsking(t, 2, 2, 2)
	a.PlaceGroup(groupOf(1, packing.StrictSpread, 1, 1, 1).at(2, 1, 2, 0))
	a.does("one is missing", "node 3 prepares bundles [2] of group 1#2, ticket 1")
	a.Prepared(3, ids.Group{1}, 1, true)
	a.does("it is there", "prepared group 1#2 on [1 2 3]")
	a.NodeGone(2)
	a.PlaceGroup(groupOf(1, packing.StrictSpread, 1, 1, 1).at(3, 1, 0, 0))
	a.does("there are too few nodes", "node 3 drops what it prepared for group 1, ticket 1",
		"infeasible group 1: group 1 can never be placed: each of its 3 bundles has to be on a node of its own (STRICT_SPREAD), and fewer nodes are alive that could have them. Ask for less, choose another strategy, or add nodes (eagleray start --address=… --num-cpus=… --resources=…).")
	a.PlaceGroup(groupOf(1, packing.StrictSpread, 1, 1, 1).at(2, 1, 2, 0)) // late
	a.does("an epoch that is over")
	a.comes(4, 1)
	a.does("another node comes", "feasible group 1", "node 4 prepares bundles [2] of group 1#3, ticket 2", "node 3 prepares bundles [1] of group 1#3, ticket 3")
	a.GroupGone(ids.Group{1}, 2)
	if a.Sizes()["groups"] != 1 {
		t.Error("a word about an earlier epoch ends the search")
	}
	a.GroupGone(ids.Group{1}, 3)
	a.none()
}

// A group whose attempt has failed keeps its turn before those that came later.
func TestGroup_AttemptFails_ItComesBeforeLaterOnes(t *testing.T) {
	a := newAsking(t, 2)
	a.PlaceGroup(groupOf(1, packing.Pack, 2))
	first := a.asks("placed")
	a.PlaceGroup(groupOf(2, packing.Pack, 2))
	a.PlaceGroup(groupOf(3, packing.Pack, 2))
	a.refuses(first[1], 2, 0)
	a.does("there is no room")
	for i, n := range []byte{1, 2, 3} {
		a.reports(1, 2, 2)
		a.does("there is", fmt.Sprintf("node 1 prepares bundles [0] of group %d#1, ticket %d", n, i+2))
		a.answers(1, ids.Group{n}, Ticket(i+2), 2, 0, true)
		a.does("it is set aside", fmt.Sprintf("prepared group %d#1 on [1]", n))
		a.GroupGone(ids.Group{n}, 1)
	}
	a.none()
}

func TestGroup_Strict_BundlesThatAreThereCount(t *testing.T) {
	a := newAsking(t, 4, 4)
	a.PlaceGroup(groupOf(1, packing.StrictPack, 1, 3).at(2, 1, 0))
	a.does("with the other one", "node 1 prepares bundles [1] of group 1#2, ticket 1")
	a.PlaceGroup(groupOf(2, packing.StrictPack, 3, 3))
	a.PlaceGroup(groupOf(3, packing.StrictSpread, 1, 1, 1))
	var told []string
	for _, x := range a.Actions() {
		i, ok := x.(GroupInfeasible)
		if !ok {
			t.Fatal(x)
		}
		told = append(told, fmt.Sprint(i.ID[0]))
	}
	if !slices.Equal(told, []string{"2", "3"}) {
		t.Errorf("infeasible are %v", told)
	}
}

// What is infeasible is said once, when all nodes were heard, and taken back when a node comes. A group that waits for nodes to come is never infeasible.
func TestGroup_NoNodesCouldHaveIt_IsSaidAndTakenBack(t *testing.T) {
	a := newAsking(t, 2)
	a.Await(true)
	a.PlaceGroup(groupOf(1, packing.Pack, 3))
	waits := groupOf(2, packing.Pack, 3)
	waits.Wait = true
	a.PlaceGroup(waits)
	a.does("a node is awaited")
	a.Await(false)
	a.does("all were heard", "infeasible group 1: group 1 can never be placed: bundle 0 needs {\"CPU\": 3} (CPU: asked 3, the cluster has at most 2). Ask for less, choose another strategy, or add nodes (eagleray start --address=… --num-cpus=… --resources=…).")
	a.reports(1, 2, 1)
	a.does("nothing has changed")
	a.NodeUp(2)
	a.Speaks(2, GroupsSince)
	a.reports(2, 3, 0)
	a.does("a node has it, which has no room now", "feasible group 1")
	a.reports(2, 3, 3)
	a.does("there is room", "node 2 prepares bundles [0] of group 1#1, ticket 1")
	a.NodeGone(2)
	told := 0
	for _, x := range a.Actions() {
		if i, ok := x.(GroupInfeasible); ok && i.ID == (ids.Group{1}) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("without that node it is called infeasible %d times", told)
	}
	for _, id := range []byte{1, 2} {
		a.GroupGone(ids.Group{id}, 1)
	}
	a.none()
}

// A bundle that asks for labels goes to a node that has them, and the message names what no node has.
func TestGroup_BundleAsksForLabels_OnlyNodesThatHaveThem(t *testing.T) {
	for _, s := range []packing.Strategy{packing.Pack, packing.Spread, packing.StrictSpread} {
		a := newAsking(t, 4, 4, 4)
		g := groupOf(1, s, 1, 1)
		has := Node(0)
		g.Allows, g.Asks = func(bundle int, n Node) bool { return bundle != 1 || n == has }, []string{"", "zone=b"}
		a.PlaceGroup(g)
		if list := a.Actions(); len(list) != 1 || !strings.Contains(list[0].String(), "can never be placed: bundle 1 asks for a node with the labels zone=b, and no node that is alive has them.") {
			t.Errorf("%s: %v", s, list)
		}
		has = 3
		a.Relabelled()
		list := a.Actions()
		if len(list) < 2 || list[0].String() != "feasible group 1" {
			t.Fatalf("%s: when a node has them: %v", s, list)
		}
		for _, x := range list[1:] {
			if p := x.(Prepare); slices.Contains(p.Index, 1) != (p.Node == has) {
				t.Errorf("%s: %s", s, p)
			}
		}
		a.GroupGone(g.ID, 1)
		a.none()
	}
	a := newAsking(t, 4, 4)
	g := groupOf(1, packing.StrictPack, 1, 1).at(2, 1, 0)
	g.Allows, g.Asks = func(_ int, n Node) bool { return n == 2 }, []string{"zone=b", "zone=b"}
	a.PlaceGroup(g)
	if list := a.Actions(); len(list) != 1 || !strings.HasPrefix(list[0].String(), "infeasible group 1") {
		t.Errorf("the other bundle is on another node: %v", list)
	}
}

// Nodes of a release without placement groups get none, and neither do nodes whose processes cannot talk with those of the group's node. They count for what is infeasible:
// they may be upgraded.
func TestGroup_NodesOfOtherReleases_AreNotAsked(t *testing.T) {
	a := newAsking(t)
	for id, speaks := range map[Node]Protocol{1: GroupsSince - 1, 2: GroupsSince, 3: GroupsSince + 1} {
		a.NodeUp(id)
		a.Speaks(id, speaks)
		a.reports(id, 4, 4)
	}
	for home, want := range map[Node][]Node{1: nil, 2: {2}, 3: {3}, 9: {2, 3}} {
		g := groupOf(byte(home), packing.Spread, 1, 1)
		g.Home = home
		a.PlaceGroup(g)
		asked := a.asks("placed")
		var got []Node
		for id := range asked {
			got = append(got, id)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("a group of node %d is prepared on %v, want %v", home, got, want)
		}
		a.GroupGone(g.ID, 1)
	}
	a.none()
}

// Which parts of devices bundles get depends on their order. They are debited, and asked for, in the order in which they were found to fit.
func TestGroup_PartsOfDevices_AreTakenInTheOrderInWhichTheyFit(t *testing.T) {
	a := newAsking(t)
	part := func(tenths int64) resource.Set {
		return resource.Set{"GPU": resource.Amount(tenths) * resource.Unit / 10}
	}
	free := twoParts(t, 4, 5)
	g := Group{ID: ids.Group{1}, Epoch: 1, Name: "g", Strategy: packing.StrictPack, At: make([]Node, 3), Bundles: []resource.Set{part(3), part(5), part(3)}}
	a.NodeUp(1)
	a.Speaks(1, GroupsSince)
	if err := a.Report(1, free.Stock()); err != nil {
		t.Fatal(err)
	}
	a.PlaceGroup(g)
	p, asked := a.asks("placed")[1]
	if !asked || !slices.Equal(p.Index, []int{1, 0, 2}) || !free.FitsAll(p.Needs) || free.FitsAll(g.Bundles) {
		t.Errorf("asked: %v, %+v; the node has room: %v, in the order of the bundles: %v", asked, p, free.FitsAll(p.Needs), free.FitsAll(g.Bundles))
	}
	a.GroupGone(g.ID, 1)
	a.none()
}

// twoParts returns a ledger of two devices, of which so many tenths are in use.
func twoParts(t *testing.T, first, second int64) *resource.Ledger {
	t.Helper()
	l, err := resource.NewLedger(nil, map[string][]string{"GPU": {"0", "1"}})
	if err != nil {
		t.Fatal(err)
	}
	take := func(tenths int64) *resource.Allocation {
		a, ok := l.Acquire(resource.Set{"GPU": resource.Amount(tenths) * resource.Unit / 10})
		if !ok {
			t.Fatal("no room")
		}
		return a
	}
	all := take(10) // the first device, so that the next part is of the second one
	take(second)
	rest := take(10 - second)
	l.Release(all)
	take(first)
	l.Release(rest)
	return l
}

// When very many groups wait for which there is no room, the machine looks at some of them for each change. It comes to all of them, and then it rests.
func TestGroup_VeryManyWait_AllHaveTheirTurn(t *testing.T) {
	a := newAsking(t)
	a.NodeUp(1)
	a.Speaks(1, GroupsSince)
	a.reports(1, 9, 0)
	const many = 3*maxGroupTries + 5
	for i := range many {
		g := groupOf(0, packing.Pack, 5)
		g.ID = ids.Group{byte(i), byte(i >> 8), 1}
		if i == many-1 {
			g.Bundles[0]["CPU"] = resource.FromInt(1)
		}
		a.PlaceGroup(g)
	}
	a.does("there is no room")
	a.reports(1, 9, 2)
	now, found := time.Duration(0), 0
	for range 20 {
		found += len(a.asks("looked at"))
		if a.groupsAt == 0 {
			break
		}
		at, ok := a.Next()
		if !ok || at > now+groupTryPause || at <= now {
			t.Fatalf("at %v the machine wants to be told of %v, %v", now, at, ok)
		}
		now = at
		if now >= RecallAfter {
			t.Fatal("that takes too long")
		}
		a.Advance(now)
	}
	if found != 1 || a.groupsAt != 0 {
		t.Errorf("the last group, for which there is room, was found %d times; the next look is at %v", found, a.groupsAt)
	}
}

// When no node has room, nodes that could have the bundles are asked all the same, and recall leases for them. One that refuses is not asked at once again.
func TestGroup_NoRoom_NodesAreAskedToRecall(t *testing.T) {
	a := newAsking(t)
	for id := range Node(2) {
		a.NodeUp(id + 1)
		a.Speaks(id+1, GroupsSince)
		a.reports(id+1, 4, 0)
	}
	a.PlaceGroup(groupOf(1, packing.StrictPack, 2, 2))
	big := groupOf(2, packing.Pack, 5)
	big.Wait = true
	a.PlaceGroup(big)
	a.does("there is no room")
	if at, ok := a.Next(); !ok || at != RecallAfter {
		t.Fatalf("the machine wants to be told of %v, %v", at, ok)
	}
	a.Advance(RecallAfter - 1)
	a.does("it is early")
	a.Advance(RecallAfter)
	first := a.asks("then")
	if len(first) != 1 || a.Sizes()["tickets"] != 0 {
		t.Fatalf("asked are %v, with debits: %v", first, a.Sizes())
	}
	for id, p := range first {
		if !slices.Equal(p.Index, []int{0, 1}) {
			t.Errorf("node %d is asked for %v", id, p.Index)
		}
		a.refuses(p, 4, 0)
		a.does("it refuses")
		at, ok := a.Next()
		if !ok || at < RecallAfter+recallPause/2 || at > time.Second {
			t.Fatalf("the machine wants to be told of %v, %v", at, ok)
		}
		for i := time.Duration(1); i < 10 && len(a.actions) == 0; i++ {
			a.Advance(at * i)
		}
		second := a.asks("later")
		if _, same := second[id]; same || len(second) != 1 {
			t.Errorf("after node %d %v are asked", id, second)
		}
		for other, q := range second {
			a.Prepared(other, ids.Group{1}, q.Ticket, true)
			a.does("the other one has it", fmt.Sprintf("prepared group 1#1 on [%d %d]", other, other))
		}
	}
	a.GroupGone(ids.Group{1}, 1)
	a.GroupGone(ids.Group{2}, 1)
	a.none()
}
