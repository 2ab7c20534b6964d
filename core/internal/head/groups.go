package head

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/record"
)

// Placement groups live as actors do: a request becomes a change of the state, and the head that leads acts on the event.
//
//	CreateGroup     PENDING, PlaceGroup
//	GroupPrepared   CREATED, OpenGroup; waiters are told
//	a node dies     RESCHEDULING, PlaceGroup for the bundles that it had
//	RemoveGroup, the end of its job or of the actor that has made it   REMOVED, DropGroup; waiters are told
//
// GroupInfeasible is not replicated, as ActorInfeasible.

// GroupPlacer finds nodes for the bundles of placement groups. Its methods must not block and must not call the head back before they return. They are called
// from one goroutine, in order.
type GroupPlacer interface {
	// PlaceGroup has nodes set aside the bundles that have no node. It answers with GroupPrepared, and says GroupInfeasible while the nodes can never have them.
	PlaceGroup(g record.Group)
	// RetryGroup has other nodes found: where the group is cannot be committed, since one of its nodes has died.
	RetryGroup(id ids.Group, epoch uint64)
	// OpenGroup has the nodes of a group give its bundles to work.
	OpenGroup(g record.Group)
	// DropGroup has all nodes drop what they have of a group.
	DropGroup(g record.Group)
}

// groupTracker knows what this head has asked for about each placement group, and who waits for it.
type groupTracker map[ids.Group]*trackedGroup

type trackedGroup struct {
	placed     uint64 // the latest epoch in which the placer was asked to find nodes
	infeasible string // why its bundles can never be placed; "": they can
	waiters    []*groupWaiter
}

// state is that of the record, or record.GroupInfeasible.
func (e *trackedGroup) state(g *record.Group) record.GroupState {
	if g.Waiting() && e.infeasible != "" {
		return record.GroupInfeasible
	}
	return g.State
}

// groupWaiter waits until a group has another state.
type groupWaiter struct {
	seen     record.GroupState // "": until the group is CREATED, INFEASIBLE or REMOVED
	done     func(record.Group, string, error)
	answered atomic.Bool
	expects  bool // the group was unknown when the waiter came
}

// wants reports whether the waiter wants to know of a state.
func (w *groupWaiter) wants(s record.GroupState) bool {
	if w.seen == "" {
		return s != record.GroupPending && s != record.GroupRescheduling
	}
	return s != w.seen || s == record.GroupRemoved
}

func (w *groupWaiter) tell(g record.Group, infeasible string, err error) {
	if w.answered.CompareAndSwap(false, true) {
		w.done(g, infeasible, err)
	}
}

// groupAction is what the head has to do about a group. The waiters are told of the record, and why it is infeasible.
type groupAction struct {
	group      record.Group
	place      bool
	open       bool
	drop       bool
	tell       []*groupWaiter
	infeasible string
	err        error
}

func (t groupTracker) get(id ids.Group) *trackedGroup {
	e := t[id]
	if e == nil {
		e = &trackedGroup{}
		t[id] = e
	}
	return e
}

// group takes a record after a change, in order.
func (t groupTracker) group(g *record.Group, leading bool) groupAction {
	a := groupAction{group: *g}
	e := t.get(g.ID)
	switch {
	case g.Waiting():
		if leading && e.placed < g.Epoch {
			e.placed, e.infeasible = g.Epoch, ""
			a.place = true
		}
	case g.Live():
		e.infeasible = ""
		a.open = leading
	default:
		e.placed, e.infeasible = 0, ""
		a.drop = leading
	}
	a.tell, a.infeasible = e.told(g), e.infeasible
	t.trim(g.ID)
	return a
}

// told takes the waiters out that want to know of the group as it is.
func (e *trackedGroup) told(g *record.Group) (list []*groupWaiter) {
	s := e.state(g)
	e.waiters = slices.DeleteFunc(e.waiters, func(w *groupWaiter) bool {
		w.expects = false
		if w.wants(s) {
			list = append(list, w)
			return true
		}
		return false
	})
	return list
}

// judged notes that a group can never be placed, as the placer says. An empty message takes that back.
func (t groupTracker) judged(g *record.Group, message string) groupAction {
	a := groupAction{group: *g, infeasible: message}
	if g.Waiting() {
		e := t.get(g.ID)
		e.infeasible = message
		a.tell = e.told(g)
		t.trim(g.ID)
	}
	return a
}

// forgetPlaced is called when this head begins or stops leading.
func (t groupTracker) forgetPlaced() {
	for _, e := range t {
		e.placed = 0
	}
}

// resync looks at all records again, because events were missed.
func (t groupTracker) resync(all []record.Group, leading bool) (todo []groupAction) {
	known := make(map[ids.Group]bool, len(all))
	for i := range all {
		g := &all[i]
		known[g.ID] = true
		if g.Waiting() || t[g.ID] != nil {
			todo = append(todo, t.group(g, leading))
		}
	}
	for id, e := range t {
		if known[id] {
			continue
		}
		gone := groupAction{err: unknownGroup(id)}
		e.waiters = slices.DeleteFunc(e.waiters, func(w *groupWaiter) bool {
			if !w.expects {
				gone.tell = append(gone.tell, w)
			}
			return !w.expects
		})
		e.placed, e.infeasible = 0, ""
		t.trim(id)
		todo = append(todo, gone)
	}
	return todo
}

// groupChanged acts on a change of a group, on the head's goroutine. Actors that run in a group end with it.
func (h *Head) groupChanged(g *record.Group) {
	var a groupAction
	leading := false
	h.locked(func() {
		leading = h.leading
		a = h.groupRows.group(g, leading)
	})
	if leading && !g.Live() {
		h.endInGroup(g)
	}
	h.actOnGroups(a)
}

// resyncGroups acts on all groups as they are now.
func (h *Head) resyncGroups() {
	var todo []groupAction
	h.locked(func() { todo = h.groupRows.resync(h.state.ListGroups(), h.leading) })
	h.actOnGroups(todo...)
}

// endInGroup ends the actors that run in a group which was removed, or wait for it.
func (h *Head) endInGroup(g *record.Group) {
	list := h.state.ActorsOf(record.ActorFilter{Live: true})
	for i := range list {
		if id, in := strategy.GroupOf(list[i].Strategy); in && id == g.ID {
			h.endIncarnation(&list[i], groupRemoved(g), false)
		}
	}
}

func groupRemoved(g *record.Group) record.Cause {
	return record.Cause{Reason: record.GroupGone, Message: fmt.Sprintf("%s: %s", g, g.Why)}
}

// withoutGroup reports whether an actor is to run in a group that was removed, or was never there, and why.
func (h *Head) withoutGroup(a *record.Actor) (why record.Cause, is bool) {
	id, in := strategy.GroupOf(a.Strategy)
	if !in {
		return why, false
	}
	g, known := h.state.Group(id)
	switch {
	case !known:
		return record.Cause{Reason: record.GroupGone, Message: fmt.Sprintf("placement group %s is not known", id)}, true
	case !g.Live():
		return groupRemoved(&g), true
	}
	return why, false
}

// actOnGroups carries out what the tracker says. The lock is not held.
func (h *Head) actOnGroups(todo ...groupAction) {
	for _, a := range todo {
		switch {
		case a.place:
			h.groups.PlaceGroup(a.group)
		case a.open:
			h.groups.OpenGroup(a.group)
		case a.drop:
			h.groups.DropGroup(a.group)
		}
		for _, w := range a.tell {
			w.tell(a.group, a.infeasible, a.err)
		}
	}
}

// CreateGroup makes a placement group, whose bundles are then placed. The error is record.ErrExists if the id is known (a retry), record.ErrNameTaken if a
// live group has the name, and record.ErrJobEnded if its job is over.
func (h *Head) CreateGroup(ctx context.Context, g record.Group) error {
	if g.CreatedMs == 0 {
		g.CreatedMs = h.nowMs()
	}
	return h.state.CreateGroup(ctx, g)
}

// RemoveGroup ends a placement group. Workers that use what its bundles have are ended. It is no error if the group was removed before.
func (h *Head) RemoveGroup(ctx context.Context, id ids.Group) error {
	return h.state.RemoveGroup(ctx, id, "it was removed by remove_placement_group()", h.nowMs())
}

// restartWithoutGroups has the next incarnation of an actor follow, and ends the groups that a detached actor has made. For a report that is before the restart:
// the next incarnation may give its groups the same names. A request that is repeated is answered from what is remembered of it, and the incarnation of the
// record is the one that it has led to, whose groups stay. So for a request the groups end when the restart has been seen to be new.
func (h *Head) restartWithoutGroups(ctx context.Context, a *record.Actor, c record.Cause) error {
	old, why := h.groupsOf(a), fmt.Sprintf("the detached actor %s, which had made it, was restarted", a.ID)
	incarnation := func() uint64 {
		now, _ := h.state.Actor(a.ID)
		return now.Incarnation
	}
	_, requested := record.RequestIn(ctx)
	if !requested && incarnation() == a.Incarnation {
		h.removeGroups(old, why)
	}
	if err := h.state.ActorRestarting(ctx, a.ID, a.Incarnation, c); err != nil {
		return err
	}
	if requested && incarnation() > a.Incarnation {
		h.removeGroups(old, why)
	}
	return nil
}

// groupsOf returns the groups that end when an incarnation of a detached actor does: those that it has made and that are not detached themselves.
func (h *Head) groupsOf(a *record.Actor) (list []ids.Group) {
	if !a.Detached {
		return nil
	}
	for _, g := range h.state.ListGroups() {
		if g.Actor == a.ID && !g.Detached && g.Live() {
			list = append(list, g.ID)
		}
	}
	return list
}

// removeGroups ends groups. Each removal is a change of its own, and not the one that a request in progress is remembered by.
func (h *Head) removeGroups(list []ids.Group, why string) {
	for _, id := range list {
		h.logLost("group removed", h.state.RemoveGroup(h.ctx, id, why, h.nowMs()))
	}
}

// AwaitGroup calls done once: when the group has another state than the one that was seen, with its record, and why it is INFEASIBLE. Seen may be "": then it
// waits until the group is CREATED, INFEASIBLE or REMOVED. The error is record.ErrNotFound, when the group is still unknown after the patience: a handle can be
// sent from process to process faster than the creation of its group reaches this head. If the answer is known now, done is called before AwaitGroup
// returns, else on the head's goroutine: it must not block. Cancel ends the wait; it reports false when done was called or is about to be.
func (h *Head) AwaitGroup(id ids.Group, seen record.GroupState, patience time.Duration, done func(g record.Group, infeasible string, err error)) (cancel func() bool) {
	w := &groupWaiter{seen: seen, done: done}
	var g record.Group
	known, waits, infeasible := false, false, ""
	h.locked(func() {
		g, known = h.state.Group(id)
		e := h.groupRows.get(id)
		infeasible = e.infeasible
		if waits = known && !w.wants(e.state(&g)) || !known && patience > 0; waits {
			w.expects = !known
			e.waiters = append(e.waiters, w)
		}
		h.groupRows.trim(id)
	})
	switch {
	case !known && patience > 0:
		time.AfterFunc(patience, func() { h.giveUpGroup(id, w) })
	case !known:
		w.tell(g, "", unknownGroup(id))
	case !waits:
		w.tell(g, infeasible, nil)
	}
	return func() bool {
		if !w.answered.CompareAndSwap(false, true) {
			return false
		}
		h.locked(func() { h.groupRows.forget(id, w) })
		return true
	}
}

func unknownGroup(id ids.Group) error {
	return fmt.Errorf("placement group %s: %w", id, record.ErrNotFound)
}

// giveUpGroup answers a waiter whose group is still unknown.
func (h *Head) giveUpGroup(id ids.Group, w *groupWaiter) {
	unknown := false
	h.locked(func() {
		if unknown = w.expects; unknown {
			h.groupRows.forget(id, w)
		}
	})
	if unknown {
		w.tell(record.Group{}, "", unknownGroup(id))
	}
}

// forget drops a waiter.
func (t groupTracker) forget(id ids.Group, w *groupWaiter) {
	if e := t[id]; e != nil {
		e.waiters = slices.DeleteFunc(e.waiters, func(o *groupWaiter) bool { return o == w })
		t.trim(id)
	}
}

// trim drops a row of which nothing is known.
func (t groupTracker) trim(id ids.Group) {
	if e := t[id]; e != nil && len(e.waiters) == 0 && e.placed == 0 && e.infeasible == "" {
		delete(t, id)
	}
}

// commitPause is the time until a change is tried again that could not be committed.
const commitPause = 100 * time.Millisecond

// GroupPrepared says that nodes have set all bundles of a group aside, in an epoch.
func (h *Head) GroupPrepared(id ids.Group, epoch uint64, nodes []ids.Node) {
	h.report(func() {
		err := h.state.PlaceGroup(h.ctx, id, epoch, nodes, h.nowMs())
		switch {
		case err == nil, tooLate(err):
		case errors.Is(err, record.ErrNodeDead):
			h.groups.RetryGroup(id, epoch)
		case h.ctx.Err() == nil: // whether it is committed is not known
			h.log.Error("where a placement group is could not be committed: it is tried again", "group", id, "error", err)
			time.AfterFunc(commitPause, func() { h.GroupPrepared(id, epoch, nodes) })
		}
	})
}

// GroupInfeasible says that the nodes of the cluster can never have the bundles of a group. Those that wait for it are told. An empty message takes that back.
func (h *Head) GroupInfeasible(id ids.Group, message string) {
	h.report(func() {
		var a groupAction
		h.locked(func() {
			if g, known := h.state.Group(id); known {
				a = h.groupRows.judged(&g, message)
			}
		})
		h.actOnGroups(a)
	})
}

// Group returns a placement group's record, of a removed one too.
func (h *Head) Group(ctx context.Context, id ids.Group) (record.Group, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return record.Group{}, err
	}
	g, known := h.state.Group(id)
	if !known {
		return g, unknownGroup(id)
	}
	return h.judged(g), nil
}

// judged adds what the placer has said to a group's record.
func (h *Head) judged(g record.Group) record.Group {
	h.locked(func() {
		if e := h.groupRows[g.ID]; e != nil && g.Waiting() {
			g.Infeasible = e.infeasible
		}
	})
	return g
}

// GroupNamed returns the live placement group with the name.
func (h *Head) GroupNamed(ctx context.Context, namespace, name string) (record.Group, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return record.Group{}, err
	}
	g, known := h.state.GroupNamed(namespace, name)
	if !known {
		return g, fmt.Errorf("placement group %q in namespace %q: %w", name, namespace, record.ErrNotFound)
	}
	return h.judged(g), nil
}

// Groups returns all placement groups, removed ones too, in the order in which they were made.
func (h *Head) Groups(ctx context.Context) ([]record.Group, error) {
	if err := h.state.Fresh(ctx); err != nil {
		return nil, err
	}
	list := slices.Clone(h.state.ListGroups())
	for i := range list {
		list[i] = h.judged(list[i])
	}
	return list, nil
}
