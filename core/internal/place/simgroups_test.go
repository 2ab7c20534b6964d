package place

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/packing"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sim"
)

// groupWorld is a cluster in which placement groups are made and removed. Its head commits late where a group is. Nodes refuse, are silent for a while and die. Orders to nodes and
// their answers are late, in order, and are not lost while the node lives.
type groupWorld struct {
	die *sim.Die
	log *sim.Log
	bug string // the planted bug, "" for none
	m   *Machine
	net *sim.Net[Node, any] // to a node, and from it to the head with the number negated
	now time.Duration

	nodes  map[Node]*hostOfBundles
	next   Node
	groups map[ids.Group]*madeGroup
	last   int

	commits, retries, refusals, deaths, told int
}

// hostOfBundles is a node.
type hostOfBundles struct {
	id     Node
	up     bool
	ledger *resource.Ledger
	own    []*resource.Allocation // of work that is no group's
	kept   map[Ticket]*keptBundles
}

type keptBundles struct {
	Bundles
	open bool
}

// madeGroup is what the head's state has of a group.
type madeGroup struct {
	Group
	created  bool
	asked    map[Ticket]Prepare // orders that were not taken back, not refused and not committed
	yes      map[Ticket]bool    // those to which the node has said yes, as the head has heard
	prepared *GroupPrepared     // that is being committed
	removed  bool
	told     bool
}

// The messages.
type (
	openSaid     struct{ group ids.Group }
	dropSaid     struct{ group ids.Group }
	preparedSaid struct {
		group  ids.Group
		ticket Ticket
		ok     bool
		stock  resource.Stock
	}
	stockSaid struct{ resource.Stock }
)

func newGroupWorld(d *sim.Die, log *sim.Log, bug string) *groupWorld {
	w := &groupWorld{die: d, log: log, bug: bug, m: New(Options{}), net: sim.NewNet[Node, any](d), nodes: map[Node]*hostOfBundles{}, groups: map[ids.Group]*madeGroup{}}
	for range d.Between(2, 4) {
		w.comes()
	}
	return w
}

const back = 1 << 16 // the channel from node n is n+back

func (w *groupWorld) comes() {
	w.next++
	devices := map[string][]string{}
	if w.die.OneIn(2) {
		devices["GPU"] = []string{"0", "1"}
	}
	l, err := resource.NewLedger(resource.Set{"CPU": resource.FromInt(int64(w.die.Between(1, 5)))}, devices)
	if err != nil {
		panic(err)
	}
	n := &hostOfBundles{id: w.next, ledger: l, kept: map[Ticket]*keptBundles{}}
	w.nodes[n.id] = n
	w.log.Note("node %d comes with %s", n.id, l.Totals())
	w.connects(n)
}

func (w *groupWorld) connects(n *hostOfBundles) {
	n.up = true
	w.net.Unblock(n.id)
	w.net.Unblock(n.id + back)
	w.m.NodeUp(n.id)
	w.m.Speaks(n.id, GroupsSince)
	w.report(n)
	w.obey()
}

func (w *groupWorld) report(n *hostOfBundles) {
	if n.up {
		w.net.Send(n.id+back, stockSaid{n.ledger.Stock()})
	}
}

func (w *groupWorld) silent(n *hostOfBundles) {
	n.up = false
	w.net.Block(n.id)
	w.net.Block(n.id + back)
	w.log.Note("node %d is silent", n.id)
	w.m.NodeSilent(n.id)
	w.obey()
}

// dies ends a node for good: the groups that had bundles there need others.
func (w *groupWorld) dies(n *hostOfBundles) {
	w.deaths++
	w.log.Note("node %d dies", n.id)
	delete(w.nodes, n.id)
	for _, g := range w.all() {
		maps.DeleteFunc(g.asked, func(_ Ticket, p Prepare) bool { return p.Node == n.id })
	}
	w.m.NodeGone(n.id)
	w.obey()
	for _, g := range w.all() {
		if slices.Contains(g.At, n.id) && !g.removed {
			at := slices.Clone(g.At)
			for i := range at {
				if at[i] == n.id {
					at[i] = 0
				}
			}
			g.Group = g.at(g.Epoch+1, at...)
			g.created, g.prepared = false, nil
			w.place(g)
		}
	}
}

func (w *groupWorld) all() (list []*madeGroup) {
	for _, id := range slices.SortedFunc(maps.Keys(w.groups), func(a, b ids.Group) int { return slices.Compare(a[:], b[:]) }) {
		list = append(list, w.groups[id])
	}
	return list
}

func (w *groupWorld) sorted() (list []*hostOfBundles) {
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		list = append(list, w.nodes[id])
	}
	return list
}

func (w *groupWorld) place(g *madeGroup) {
	w.log.Note("group %x#%d needs nodes beside %v", g.ID[0], g.Epoch, g.At)
	w.m.PlaceGroup(g.Group)
	w.obey()
}

func (w *groupWorld) make() {
	w.last++
	g := groupOf(0, packing.Strategy(w.die.N(4)))
	g.ID = ids.Group{byte(w.last), byte(w.last >> 8), 1}
	for range w.die.Between(1, 3) {
		g.Bundles = append(g.Bundles, sim.Pick(w.die, []resource.Set{
			{"CPU": resource.FromInt(1)}, {"CPU": resource.FromInt(2)}, {"CPU": resource.FromInt(3)}, {"GPU": resource.Unit / 2}, {"GPU": 3 * resource.Unit / 10, "CPU": resource.FromInt(1)}, {"GPU": resource.Unit},
		}))
		g.At = append(g.At, 0)
	}
	g.Wait = w.die.OneIn(3)
	made := &madeGroup{Group: g, asked: map[Ticket]Prepare{}, yes: map[Ticket]bool{}}
	w.groups[g.ID] = made
	w.place(made)
}

// remove ends a group: the head has all nodes drop what they have of it.
func (w *groupWorld) remove(g *madeGroup) {
	w.log.Note("group %x is removed", g.ID[0])
	nodes := map[Node]bool{}
	for _, n := range append(slices.Clone(g.At), w.m.AskedFor(g.ID)...) {
		nodes[n] = true
	}
	g.removed = true
	w.m.GroupGone(g.ID, g.Epoch)
	for _, n := range slices.Sorted(maps.Keys(nodes)) {
		if w.nodes[n] != nil {
			w.net.Send(n, dropSaid{g.ID})
		}
	}
	delete(w.groups, g.ID)
	w.obey()
}

// commit ends the commit of where a group is. It fails if one of the nodes is dead.
func (w *groupWorld) commit(g *madeGroup) {
	p := g.prepared
	g.prepared = nil
	for _, n := range p.Nodes {
		if w.nodes[n] == nil {
			w.retries++
			w.log.Note("group %x#%d cannot be committed: node %d is dead", g.ID[0], p.Epoch, n)
			w.m.RetryGroup(g.ID, p.Epoch)
			w.obey()
			return
		}
	}
	w.commits++
	w.log.Note("group %x#%d is committed on %v", g.ID[0], p.Epoch, p.Nodes)
	g.created, g.At = true, p.Nodes
	clear(g.asked)
	w.m.GroupGone(g.ID, p.Epoch)
	for _, n := range slices.Compact(slices.Sorted(slices.Values(p.Nodes))) {
		w.net.Send(n, openSaid{g.ID})
	}
	w.obey()
}

// Step implements sim.World.
func (w *groupWorld) Step() error {
	switch n := sim.Pick(w.die, w.sorted()); w.die.N(20) {
	case 0, 1:
		if len(w.groups) < 8 {
			w.make()
		}
	case 2:
		if len(w.groups) > 0 {
			w.remove(sim.Pick(w.die, w.all()))
		}
	case 3, 4:
		w.work(n)
	case 5:
		w.now += w.die.Duration(600 * time.Millisecond)
		w.m.Advance(w.now)
		w.obey()
	case 6:
		if !n.up {
			w.connects(n)
		} else if w.die.OneIn(3) {
			w.silent(n)
		}
	case 7:
		if w.die.OneIn(8) && len(w.nodes) > 2 {
			w.dies(n)
		} else if w.die.OneIn(6) && len(w.nodes) < 5 {
			w.comes()
		}
	case 8:
		if w.m.nodes[n.id] != nil {
			w.m.Suspect(n.id, w.die.OneIn(2))
			w.obey()
		}
	case 9, 10:
		for _, g := range w.all() {
			if g.prepared != nil {
				w.commit(g)
				break
			}
		}
	default:
		w.deliver()
	}
	return w.check()
}

// work takes or frees something of a node that is no group's.
func (w *groupWorld) work(n *hostOfBundles) {
	if i := len(n.own); i > 0 && w.die.OneIn(2) {
		n.ledger.Release(n.own[i-1])
		n.own = n.own[:i-1]
	} else if a, ok := n.ledger.Acquire(sim.Pick(w.die, []resource.Set{{"CPU": resource.FromInt(1)}, {"GPU": resource.Unit / 4}})); ok {
		n.own = append(n.own, a)
	}
	w.report(n)
}

func (w *groupWorld) deliver() bool {
	to, msg, ok := w.net.Deliver()
	if !ok {
		return false
	}
	if n := w.nodes[to%back]; n != nil && to > back {
		w.atHead(n, msg)
	} else if n != nil {
		w.atNode(n, msg)
	}
	return true
}

func (w *groupWorld) atHead(n *hostOfBundles, msg any) {
	switch msg := msg.(type) {
	case stockSaid:
		if err := w.m.Report(n.id, msg.Stock); err != nil {
			panic(err)
		}
	case preparedSaid:
		if g := w.groups[msg.group]; g != nil {
			if _, asked := g.asked[msg.ticket]; asked && msg.ok {
				g.yes[msg.ticket] = true
			} else if asked {
				delete(g.asked, msg.ticket)
			}
		}
		if err := w.m.Settled(n.id, msg.ticket, 0, &msg.stock); err != nil {
			panic(err)
		}
		w.m.Prepared(n.id, msg.group, msg.ticket, msg.ok)
	}
	w.obey()
}

// atNode has a node carry out an order, as package sched does.
func (w *groupWorld) atNode(n *hostOfBundles, msg any) {
	drop := func(test func(Ticket, *keptBundles) bool) {
		for _, t := range slices.Sorted(maps.Keys(n.kept)) {
			if k := n.kept[t]; test(t, k) {
				for _, i := range k.Index {
					n.ledger.Drop(k.id(i))
				}
				delete(n.kept, t)
			}
		}
	}
	switch msg := msg.(type) {
	case Prepare:
		drop(func(_ Ticket, k *keptBundles) bool { return k.Group == msg.Group && !k.open })
		ok := !w.die.OneIn(6) && n.ledger.FitsAll(msg.Needs)
		if ok {
			k := &keptBundles{Bundles: msg.Bundles}
			for i, need := range msg.Needs {
				if has, _ := n.ledger.HasBundle(k.id(msg.Index[i])); has || !n.ledger.Prepare(k.id(msg.Index[i]), need) {
					panic(fmt.Sprintf("%s: the node has it, or has no room", msg))
				}
			}
			n.kept[msg.Ticket] = k
		} else {
			w.refusals++
		}
		w.net.Send(n.id+back, preparedSaid{msg.Group, msg.Ticket, ok, n.ledger.Stock()})
	case Unprepare:
		drop(func(t Ticket, k *keptBundles) bool { return k.Group == msg.Group && t == msg.Ticket && !k.open })
		w.report(n)
	case openSaid:
		for _, t := range slices.Sorted(maps.Keys(n.kept)) {
			if k := n.kept[t]; k.Group == msg.group && !k.open {
				k.open = true
				for _, i := range k.Index {
					n.ledger.Commit(k.id(i))
				}
			}
		}
		w.report(n)
	case dropSaid:
		drop(func(_ Ticket, k *keptBundles) bool { return k.Group == msg.group })
		w.report(n)
	}
}

func (b *Bundles) id(index int) resource.BundleID {
	return resource.BundleID{Group: b.Group.String(), Index: index}
}

// obey checks what the machine orders, and sends it.
func (w *groupWorld) obey() {
	for _, a := range w.m.Actions() {
		w.log.Note("%s", a)
		switch a := a.(type) {
		case Prepare:
			w.asks(a)
		case Unprepare:
			if w.bug == "an order is not taken back" && w.die.OneIn(2) {
				continue
			}
			if g := w.groups[a.Group]; g != nil {
				if _, asked := g.asked[a.Ticket]; !asked && w.nodes[a.Node] != nil {
					panic(fmt.Sprintf("%s: that is no order under way", a))
				}
				delete(g.asked, a.Ticket)
			}
			if w.nodes[a.Node] != nil {
				w.net.Send(a.Node, a)
			}
		case GroupPrepared:
			w.isPrepared(a)
		case GroupInfeasible:
			w.told++
			w.judged(a.ID, true)
		case GroupFeasible:
			w.judged(a.ID, false)
		}
	}
}

// asks checks an order to set bundles aside.
func (w *groupWorld) asks(a Prepare) {
	g, n := w.groups[a.Group], w.nodes[a.Node]
	switch {
	case g == nil || g.removed || g.created || g.Epoch != a.Epoch:
		panic(fmt.Sprintf("%s: nothing is asked for", a))
	case n == nil || !n.up:
		panic(fmt.Sprintf("%s: the node is gone, or silent", a))
	case g.prepared != nil:
		panic(fmt.Sprintf("%s: the group is being committed", a))
	}
	for _, i := range a.Index {
		if g.At[i] != 0 {
			panic(fmt.Sprintf("%s: bundle %d is on node %d", a, i, g.At[i]))
		}
		for _, o := range g.asked {
			if slices.Contains(o.Index, i) && o.Node != a.Node {
				panic(fmt.Sprintf("%s: node %d has bundle %d, or may have it", a, o.Node, i))
			}
		}
	}
	for t, o := range g.asked {
		if o.Node == a.Node { // the node drops that by itself
			delete(g.asked, t)
		}
	}
	g.asked[a.Ticket] = a
	w.net.Send(a.Node, a)
}

// isPrepared checks that all nodes have said yes, and that they are such as the strategy wants.
func (w *groupWorld) isPrepared(a GroupPrepared) {
	g := w.groups[a.ID]
	if g == nil || g.Epoch != a.Epoch || g.prepared != nil {
		panic(fmt.Sprintf("%s: it is not waited for", a))
	}
	to := slices.Clone(g.At)
	for t, p := range g.asked {
		if !g.yes[t] {
			panic(fmt.Sprintf("%s: node %d has not answered", a, p.Node))
		}
		for _, i := range p.Index {
			to[i] = p.Node
		}
	}
	for i, n := range to {
		if dead := n == 0 && w.nodes[a.Nodes[i]] == nil; a.Nodes[i] == 0 || n != a.Nodes[i] && !dead {
			panic(fmt.Sprintf("%s: the nodes are %v", a, to))
		}
	}
	used := slices.Compact(slices.Sorted(slices.Values(a.Nodes)))
	if g.Strategy == packing.StrictPack && len(used) > 1 || g.Strategy == packing.StrictSpread && len(used) < len(a.Nodes) {
		panic(fmt.Sprintf("%s: the strategy is %s", a, g.Strategy))
	}
	g.prepared = &a
}

// judged checks news of whether a group could ever be placed.
func (w *groupWorld) judged(id ids.Group, infeasible bool) {
	g := w.groups[id]
	if g == nil || g.told == infeasible || infeasible && g.Wait {
		panic(fmt.Sprintf("group %x is infeasible: %v, after %v", id[0], infeasible, g))
	}
	g.told = infeasible
}

// check holds what is always so.
func (w *groupWorld) check() error {
	for _, n := range w.nodes {
		for _, k := range n.kept {
			g := w.groups[k.Group]
			for _, i := range k.Index {
				if g != nil && k.open && g.At[i] != n.id {
					return fmt.Errorf("bundle %d of group %x is open on node %d, and is on %d by the state", i, k.Group[0], n.id, g.At[i])
				}
			}
		}
	}
	for _, g := range w.groups {
		for i, id := range g.At {
			if n := w.nodes[id]; id != 0 && !n.has(g.ID, i) {
				return fmt.Errorf("bundle %d of group %x is on node %d by the state, and the node has dropped it", i, g.ID[0], id)
			}
		}
	}
	return nil
}

func (n *hostOfBundles) has(id ids.Group, bundle int) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(n.kept)), func(k *keptBundles) bool { return k.Group == id && slices.Contains(k.Index, bundle) })
}

// Finish implements sim.World: all nodes are connected, all messages arrive, and every group has its nodes or finds no room. Then all groups are removed, and all is free.
func (w *groupWorld) Finish() error {
	for _, n := range w.sorted() {
		w.m.Suspect(n.id, false)
		if !n.up {
			w.connects(n)
		}
		for _, a := range n.own {
			n.ledger.Release(a)
		}
		n.own = nil
		w.report(n)
	}
	for range 200 {
		for w.deliver() {
		}
		quiet := true
		for _, g := range w.all() {
			if g.prepared != nil {
				w.commit(g)
				quiet = false
			}
		}
		if quiet && w.settled() {
			break
		}
		w.now += 100 * time.Millisecond
		w.m.Advance(w.now)
		w.obey()
	}
	if err := w.check(); err != nil {
		return err
	}
	for _, g := range w.all() {
		if !g.created && w.room(g) {
			return fmt.Errorf("group %x#%d waits, and there is room", g.ID[0], g.Epoch)
		}
	}
	for _, n := range w.sorted() {
		for t, k := range n.kept {
			if !k.open {
				return fmt.Errorf("node %d has bundles of group %x that nobody wants, of ticket %d", n.id, k.Group[0], t)
			}
		}
	}
	for _, g := range w.all() {
		w.remove(g)
	}
	for w.deliver() {
	}
	for _, n := range w.sorted() {
		if !n.ledger.Free().Equal(n.ledger.Totals()) {
			return fmt.Errorf("node %d has %s free of %s in the end", n.id, n.ledger.Free(), n.ledger.Totals())
		}
		if l := w.m.nodes[n.id].ledger; !l.Free().Equal(l.Totals()) {
			return fmt.Errorf("the machine thinks that node %d has %s free of %s in the end", n.id, l.Free(), l.Totals())
		}
	}
	if s := w.m.Sizes(); s["groups"] != 0 || s["tickets"] != 0 || len(w.m.waitingGroups) != 0 {
		return fmt.Errorf("in the end the tables are %v", s)
	}
	return nil
}

// settled reports whether no group has an attempt under way, and none of those that wait finds room.
func (w *groupWorld) settled() bool {
	for _, g := range w.all() {
		if !g.created && (len(g.asked) > 0 || w.room(g)) {
			return false
		}
	}
	return true
}

// room reports whether the nodes have room for a group that waits.
func (w *groupWorld) room(g *madeGroup) bool {
	var nodes []packing.Node
	var missing []packing.Bundle
	for _, n := range w.sorted() {
		p := packing.Node{Ledger: n.ledger}
		for _, at := range g.At {
			if at == n.id {
				p.Here++
			}
		}
		nodes = append(nodes, p)
	}
	for i, need := range g.Bundles {
		if g.At[i] == 0 {
			missing = append(missing, packing.Bundle{Need: need})
		}
	}
	_, ok := packing.Choose(g.Strategy, missing, nodes)
	return ok
}

func beginGroups(d *sim.Die, log *sim.Log) sim.World { return newGroupWorld(d, log, "") }

// Placement groups get all of their nodes or none, whatever the nodes do.
func TestSim_Groups(t *testing.T) { sim.Run(t, steps, beginGroups) }

func TestSim_Groups_SameSeed_SameEvents(t *testing.T) { sim.Replays(t, steps, beginGroups) }

func TestSim_Groups_PlantedBug_IsFound(t *testing.T) {
	sim.Find(t, steps, func(d *sim.Die, log *sim.Log) sim.World { return newGroupWorld(d, log, "an order is not taken back") })
}

// In a world all that can happen does happen.
func TestSim_Groups_World_MuchHappens(t *testing.T) {
	var commits, retries, refusals, deaths, told int
	for seed := range uint64(60) {
		w := newGroupWorld(sim.NewDie(seed+1), new(sim.Log), "")
		for range steps {
			if err := w.Step(); err != nil {
				t.Fatal(err)
			}
		}
		commits, retries, refusals, deaths, told = commits+w.commits, retries+w.retries, refusals+w.refusals, deaths+w.deaths, told+w.told
	}
	if commits < 150 || retries < 3 || refusals < 100 || deaths < 20 || told < 20 {
		t.Errorf("%d commits, %d that failed, %d refusals, %d deaths of nodes, %d groups infeasible", commits, retries, refusals, deaths, told)
	}
}
