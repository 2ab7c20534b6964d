package head

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// told is an answer to a question for a group.
type told struct {
	state      record.GroupState
	infeasible string
	err        error
}

// await asks for a group and returns where the answers come, and how the question is ended.
func await(h *Head, id ids.Group, seen record.GroupState, patience time.Duration) (answers *[]told, cancel func() bool) {
	answers = new([]told)
	return answers, h.AwaitGroup(id, seen, patience, func(g record.Group, infeasible string, err error) {
		*answers = append(*answers, told{g.State, infeasible, err})
	})
}

// placed notes what is asked of a group's placer.
type placed struct{ list []string }

func (p *placed) PlaceGroup(record.Group)      { p.list = append(p.list, "place") }
func (p *placed) RetryGroup(ids.Group, uint64) { p.list = append(p.list, "retry") }
func (p *placed) OpenGroup(record.Group)       { p.list = append(p.list, "open") }
func (p *placed) DropGroup(record.Group)       { p.list = append(p.list, "drop") }

// A handle of a group may arrive before the group: who asks for it waits for a while. When the group is known meanwhile, it is waited for without a limit.
func TestAwaitGroup_Unknown_IsWaitedForUntilThePatienceEnds(t *testing.T) {
	var log bytes.Buffer
	s := &records{}
	h := quietHead(s, &log)
	h.groups = &placed{}
	g := record.Group{ID: ids.Group{1}, State: record.GroupPending, Epoch: 1}
	never, _ := await(h, ids.Group{2}, "", time.Hour)
	comes, _ := await(h, g.ID, "", time.Hour)
	seen, _ := await(h, g.ID, record.GroupPending, time.Hour)
	gone, cancel := await(h, ids.Group{3}, "", time.Hour)
	give := func(id ids.Group) {
		for _, w := range slices.Clone(h.groupRows[id].waiters) {
			h.giveUpGroup(id, w)
		}
	}
	if !cancel() || cancel() {
		t.Error("a question is cancelled once")
	}
	if _, rows := h.groupRows[ids.Group{3}]; rows {
		t.Error("a row without waiters is kept")
	}
	s.groups = []record.Group{g}
	h.groupChanged(&g)
	give(g.ID)
	give(ids.Group{2})
	if len(*never) != 1 || !errors.Is((*never)[0].err, record.ErrNotFound) {
		t.Errorf("of a group that never came: %v", *never)
	}
	if len(*comes)+len(*seen)+len(*gone) != 0 {
		t.Errorf("of a group that came, and waits: %v, %v; of a cancelled question: %v", *comes, *seen, *gone)
	}
	g.State = record.GroupCreated
	h.groupChanged(&g)
	for _, got := range [][]told{*comes, *seen} {
		if !slices.Equal(got, []told{{state: record.GroupCreated}}) {
			t.Errorf("when it is created: %v", got)
		}
	}
	if now, _ := await(h, ids.Group{9}, "", 0); len(*now) != 1 || !errors.Is((*now)[0].err, record.ErrNotFound) {
		t.Errorf("without patience: %v", *now)
	}
	if len(h.groupRows) != 0 {
		t.Errorf("%d rows are left of a head that does not lead", len(h.groupRows))
	}
}

// Whoever waits is told of what it has not seen, once. A group that was removed is told of in any case.
func TestGroupWaiter_WantsWhatItHasNotSeen(t *testing.T) {
	states := []record.GroupState{record.GroupPending, record.GroupCreated, record.GroupRescheduling, record.GroupInfeasible, record.GroupRemoved}
	for seen, want := range map[record.GroupState][]record.GroupState{
		"":                       {record.GroupCreated, record.GroupInfeasible, record.GroupRemoved},
		record.GroupPending:      {record.GroupCreated, record.GroupRescheduling, record.GroupInfeasible, record.GroupRemoved},
		record.GroupCreated:      {record.GroupPending, record.GroupRescheduling, record.GroupInfeasible, record.GroupRemoved},
		record.GroupRescheduling: {record.GroupPending, record.GroupCreated, record.GroupInfeasible, record.GroupRemoved},
		record.GroupInfeasible:   {record.GroupPending, record.GroupCreated, record.GroupRescheduling, record.GroupRemoved},
		record.GroupRemoved:      {record.GroupPending, record.GroupCreated, record.GroupRescheduling, record.GroupInfeasible, record.GroupRemoved},
	} {
		var got []record.GroupState
		for _, s := range states {
			if (&groupWaiter{seen: seen}).wants(s) {
				got = append(got, s)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("who has seen %q wants to know of %v, want %v", seen, got, want)
		}
	}
}

// A head that leads asks for nodes once in each epoch; one that leads again asks anew. One that does not lead asks for nothing, and tells those who wait all the same.
func TestGroups_LeaderChanges_NodesAreAskedForAnew(t *testing.T) {
	var log bytes.Buffer
	g := record.Group{ID: ids.Group{1}, State: record.GroupPending, Epoch: 1}
	s := &records{groups: []record.Group{g}}
	h, p := quietHead(s, &log), &placed{}
	h.groups = p
	ready, _ := await(h, g.ID, "", 0)
	change := func(state record.GroupState, epoch uint64) record.Event {
		next := g
		next.State, next.Epoch = state, epoch
		s.groups = []record.Group{next}
		return record.Event{Kind: record.GroupEvent, Group: &next}
	}
	for i, step := range []struct {
		leading bool
		state   record.GroupState
		epoch   uint64
		want    []string
	}{
		{false, record.GroupPending, 1, nil}, {true, record.GroupPending, 1, []string{"place"}}, {true, record.GroupPending, 1, nil}, {false, record.GroupPending, 1, nil},
		{true, record.GroupPending, 1, []string{"place"}}, {true, record.GroupCreated, 1, []string{"open"}}, {true, record.GroupRescheduling, 2, []string{"place"}},
		{true, record.GroupRescheduling, 2, nil}, {true, record.GroupRescheduling, 3, []string{"place"}}, {false, record.GroupCreated, 3, nil}, {true, record.GroupCreated, 3, nil},
		{true, record.GroupRemoved, 3, []string{"drop"}}, {true, record.GroupPending, 1, []string{"place"}}, {true, record.GroupRemoved, 1, []string{"drop"}},
	} {
		p.list = nil
		h.events(record.Batch{Leading: step.leading, Events: []record.Event{change(step.state, step.epoch)}})
		if !slices.Equal(p.list, step.want) {
			t.Errorf("step %d, %s#%d, leading %v: %v, want %v", i, step.state, step.epoch, step.leading, p.list, step.want)
		}
	}
	if !slices.Equal(*ready, []told{{state: record.GroupCreated}}) {
		t.Errorf("who waits is told %v", *ready)
	}
	if len(h.groupRows) != 0 {
		t.Errorf("%d rows are left", len(h.groupRows))
	}
}

// When events were missed, those who wait for a group that is forgotten are told so, and no row is left.
func TestGroups_EventsWereMissed_AllAreLookedAtAgain(t *testing.T) {
	var log bytes.Buffer
	s := &records{groups: []record.Group{{ID: ids.Group{1}, State: record.GroupPending, Epoch: 1}, {ID: ids.Group{2}, State: record.GroupPending, Epoch: 1}}}
	h, p := quietHead(s, &log), &placed{}
	h.groups = p
	h.events(record.Batch{Leading: true})
	created, _ := await(h, ids.Group{1}, "", 0)
	forgotten, _ := await(h, ids.Group{2}, "", 0)
	expected, _ := await(h, ids.Group{3}, "", time.Hour)
	s.groups = []record.Group{{ID: ids.Group{1}, State: record.GroupCreated, Epoch: 1}, {ID: ids.Group{4}, State: record.GroupPending, Epoch: 1}, {ID: ids.Group{5}, State: record.GroupCreated, Epoch: 1}}
	p.list = nil
	h.resync(9)
	slices.Sort(p.list)
	if !slices.Equal(p.list, []string{"open", "place"}) {
		t.Errorf("it has them %v", p.list)
	}
	if !slices.Equal(*created, []told{{state: record.GroupCreated}}) || len(*forgotten) != 1 || !errors.Is((*forgotten)[0].err, record.ErrNotFound) || len(*expected) != 0 {
		t.Errorf("told are %v, %v and %v", *created, *forgotten, *expected)
	}
	if h.groupRows[ids.Group{2}] != nil || h.groupRows[ids.Group{3}] == nil {
		t.Errorf("the rows are %v", h.groupRows)
	}
}

func (s *records) RemoveGroup(_ context.Context, id ids.Group, _ string, _ int64) error {
	s.ended = append(s.ended, fmt.Sprintf("group %d removed", id[0]))
	return nil
}

// The groups that a detached actor has made end when it is restarted, but for detached ones and those that are gone; those of other actors stay. Groups
// that may be those of the next incarnation stay: when a restart is refused, or was made before and is only remembered.
func TestRestart_DetachedActor_ItsGroupsEnd(t *testing.T) {
	var log bytes.Buffer
	actor := record.Actor{ID: ids.Actor{'a'}, State: record.ActorAlive, Incarnation: 1, MaxRestarts: 1, Detached: true}
	other := record.Actor{ID: ids.Actor{'b'}, State: record.ActorAlive, Incarnation: 1, MaxRestarts: 1}
	groups := []record.Group{
		{ID: ids.Group{1}, Actor: actor.ID, State: record.GroupCreated}, {ID: ids.Group{2}, Actor: actor.ID, State: record.GroupPending},
		{ID: ids.Group{3}, Actor: actor.ID, State: record.GroupCreated, Detached: true}, {ID: ids.Group{4}, Actor: actor.ID, State: record.GroupRemoved},
		{ID: ids.Group{5}, Actor: other.ID, State: record.GroupCreated}, {ID: ids.Group{6}, State: record.GroupCreated},
	}
	for _, step := range []struct {
		who       record.Actor
		requested bool
		now       uint64 // the incarnation that is read
		refuse    error
		want      string
	}{
		{actor, false, 1, nil, "group 1 removed, group 2 removed, a#1 restarts: crashed"},
		{actor, false, 2, record.ErrStale, "a#1 restarts: crashed"},
		{actor, true, 2, nil, "a#1 restarts: crashed, group 1 removed, group 2 removed"},
		{actor, true, 1, nil, "a#1 restarts: crashed"},
		{actor, true, 2, record.ErrStale, "a#1 restarts: crashed"},
		{other, false, 1, nil, "b#1 restarts: crashed"},
		{other, true, 2, nil, "b#1 restarts: crashed"},
	} {
		now := step.who
		now.Incarnation = step.now
		s := &records{groups: groups, refuse: step.refuse, actors: []record.Actor{now}}
		h := quietHead(s, &log)
		ctx := t.Context()
		if step.requested {
			ctx = record.Request{Number: 1}.With(ctx)
		}
		err := h.restart(ctx, &step.who, record.Cause{Message: "crashed"}, true)
		if got := strings.Join(s.ended, ", "); !errors.Is(err, step.refuse) || got != step.want {
			t.Errorf("actor %c, a request %v, then #%d, refused with %v: %v and %q, want %q", step.who.ID[0], step.requested, now.Incarnation, step.refuse, err, got, step.want)
		}
	}
}
