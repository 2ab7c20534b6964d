package inquiry

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// groupHead is a head with one placement group.
type groupHead struct {
	Head
	group   record.Group
	err     error
	removed []ids.Group
	asked   chan groupQuestion
}

type groupQuestion struct {
	id       ids.Group
	seen     record.GroupState
	done     func(record.Group, string, error)
	canceled chan struct{}
}

func (h *groupHead) Group(_ context.Context, id ids.Group) (record.Group, error) {
	if h.err == nil && id != h.group.ID {
		return record.Group{}, record.ErrNotFound
	}
	return h.group, h.err
}

func (h *groupHead) GroupNamed(_ context.Context, namespace, name string) (record.Group, error) {
	if h.err == nil && (namespace != "ns" || name != "g") {
		return record.Group{}, record.ErrNotFound
	}
	return h.group, h.err
}

func (h *groupHead) Groups(context.Context) ([]record.Group, error) {
	return []record.Group{h.group}, h.err
}

func (h *groupHead) RemoveGroup(_ context.Context, id ids.Group) error {
	h.removed = append(h.removed, id)
	return h.err
}

// AwaitGroup keeps the question. It is cancelled once, and not after it was answered.
func (h *groupHead) AwaitGroup(id ids.Group, seen record.GroupState, _ time.Duration, done func(record.Group, string, error)) func() bool {
	over := make(chan struct{}, 1)
	over <- struct{}{}
	q := groupQuestion{id: id, seen: seen, canceled: make(chan struct{}), done: func(g record.Group, infeasible string, err error) {
		if len(over) > 0 {
			<-over
			done(g, infeasible, err)
		}
	}}
	h.asked <- q
	return func() bool {
		select {
		case <-over:
			close(q.canceled)
			return true
		default:
			return false
		}
	}
}

// What the head has of groups is answered, nil for one that is not there, and its errors are passed on.
func TestGroups_Answers_WhatTheHeadHas_OrItsError(t *testing.T) {
	id, down := ids.Group{1}, fault.New(fault.HeadUnavailable, "no path")
	h := &groupHead{group: record.Group{ID: id, Name: "g"}}
	find := func(q wire.GroupFind) (any, error) {
		return FindGroup(t.Context(), h, message(t, wire.TGroupFind, q))
	}
	other := ids.Group{2}
	for what, c := range map[string]struct {
		q     wire.GroupFind
		there bool
	}{
		"by its id": {wire.GroupFind{GroupID: id[:]}, true}, "by its name": {wire.GroupFind{Namespace: "ns", Name: "g"}, true},
		"by another id": {wire.GroupFind{GroupID: other[:]}, false}, "by another name": {wire.GroupFind{Namespace: "ns", Name: "x"}, false},
	} {
		got, err := find(c.q)
		if g, is := got.(*record.Group); err != nil || is != c.there || is && g.ID != id {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	if got, err := ListGroups(t.Context(), h, message(t, wire.TGroups, nil)); err != nil || len(got.([]record.Group)) != 1 {
		t.Errorf("the list: %v, %v", got, err)
	}
	if _, err := RemoveGroup(t.Context(), h, message(t, wire.TGroupRemove, wire.GroupRef{GroupID: id[:]})); err != nil || len(h.removed) != 1 || h.removed[0] != id {
		t.Errorf("removed is %v, %v", h.removed, err)
	}
	for what, err := range map[string]error{
		"find":   second(find(wire.GroupFind{GroupID: id[1:]})),
		"remove": second(RemoveGroup(t.Context(), h, message(t, wire.TGroupRemove, wire.GroupRef{}))),
		"wait":   AwaitGroup(h, &Pending{}, message(t, wire.TGroupWait, wire.GroupWait{GroupID: id[1:]})),
	} {
		if fault.CodeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), "has 18 bytes") {
			t.Errorf("%s without a right id: %v", what, err)
		}
	}
	broken := &wire.Message{Body: []byte{0xc1}}
	for what, err := range map[string]error{
		"find": second(FindGroup(t.Context(), h, broken)), "remove": second(RemoveGroup(t.Context(), h, broken)), "wait": AwaitGroup(h, &Pending{}, broken),
	} {
		if err == nil {
			t.Errorf("%s: what is no request is taken for one", what)
		}
	}
	h.err = down
	for what, err := range map[string]error{
		"find": second(find(wire.GroupFind{GroupID: id[:]})), "list": second(ListGroups(t.Context(), h, nil)),
		"remove": second(RemoveGroup(t.Context(), h, message(t, wire.TGroupRemove, wire.GroupRef{GroupID: id[:]}))),
	} {
		if !errors.Is(err, down) {
			t.Errorf("%s of a head that fails: %v", what, err)
		}
	}
}

func second(_ any, err error) error { return err }

// waiting is a process whose question for a group is served.
type waiting struct {
	t       *testing.T
	head    *groupHead
	pending Pending
	from    *wire.Peer
}

func newWaiting(t *testing.T) *waiting {
	w := &waiting{t: t, head: &groupHead{group: record.Group{ID: ids.Group{1}, State: record.GroupPending}, asked: make(chan groupQuestion, 9)}}
	here, there := net.Pipe()
	at := wire.NewPeer(there, func(m *wire.Message) {
		if err := AwaitGroup(w.head, &w.pending, m); err != nil {
			t.Error(err)
		}
	}, nil)
	w.from = wire.NewPeer(here, func(*wire.Message) {}, nil)
	at.Start()
	w.from.Start()
	t.Cleanup(func() { w.from.Close(); at.Close(); <-at.Done() })
	return w
}

type groupAnswer struct {
	state wire.GroupState
	err   error
}

// ask asks for the group. The answer comes later.
func (w *waiting) ask(seen record.GroupState, timeoutMs int64) chan groupAnswer {
	id := w.head.group.ID
	got := make(chan groupAnswer, 2)
	w.from.Go(wire.TGroupWait, wire.GroupWait{GroupID: id[:], Seen: string(seen), TimeoutMs: timeoutMs}, func(m *wire.Message, err error) {
		var a groupAnswer
		if a.err = err; err == nil {
			a.err = m.Decode(&a.state)
		}
		got <- a
	})
	return got
}

func take[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// until waits until no question is kept.
func (w *waiting) none() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); w.pending.Len() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%d questions are kept", w.pending.Len())
		}
	}
}

// A question for a group is answered when there is something to say, with what is to be said.
func TestAwaitGroup_HeadAnswers_ProcessHears(t *testing.T) {
	w := newWaiting(t)
	g := w.head.group
	for what, c := range map[string]struct {
		state      record.GroupState
		infeasible string
		err        error
		want       wire.GroupState
		says       string
	}{
		"created":    {state: record.GroupCreated, want: wire.GroupState{State: "CREATED"}},
		"infeasible": {state: record.GroupPending, infeasible: "too large", want: wire.GroupState{State: "INFEASIBLE", Message: "too large"}},
		"removed":    {state: record.GroupRemoved, want: wire.GroupState{State: "REMOVED", Message: "by hand"}},
		"unknown":    {err: record.ErrNotFound, says: "not found"},
	} {
		got := w.ask("CREATED", []int64{-1, 600_000}[len(what)%2])
		q := take(t, "the question", w.head.asked)
		if q.id != g.ID || q.seen != record.GroupCreated {
			t.Errorf("asked is %+v", q)
		}
		rec := g
		rec.State, rec.Why = c.state, map[bool]string{true: "by hand"}[c.state == record.GroupRemoved]
		q.done(rec, c.infeasible, c.err)
		a := take(t, "the answer", got)
		if a.state != c.want || (c.says == "") != (a.err == nil) || a.err != nil && !strings.Contains(a.err.Error(), c.says) {
			t.Errorf("%s: %+v", what, a)
		}
	}
	w.none()
}

// When the time is over, the answer is the group as it is, and the question is ended.
func TestAwaitGroup_TimeIsOver_AnswersWithTheStateAsItIs(t *testing.T) {
	w := newWaiting(t)
	for _, ms := range []int64{0, 1} {
		got := w.ask("PENDING", ms)
		q := take(t, "the question", w.head.asked)
		if a := take(t, "the answer", got); a.err != nil || a.state.State != "PENDING" {
			t.Errorf("after %d ms: %+v", ms, a)
		}
		take(t, "the end of the question", q.canceled)
	}
	w.none()
	w.head.err = fault.New(fault.HeadUnavailable, "no path")
	got := w.ask("PENDING", 1)
	if a := take(t, "the answer", got); fault.CodeOf(a.err) != fault.HeadUnavailable {
		t.Errorf("of a head that fails: %+v", a)
	}
	w.none()
}

// A time that is longer than a time.Duration can be is not over at once.
func TestAwaitGroup_LongestTime_IsWaitedFor(t *testing.T) {
	w := newWaiting(t)
	got := w.ask("PENDING", math.MaxInt64)
	q := take(t, "the question", w.head.asked)
	select {
	case <-q.canceled:
		t.Error("the question has ended at once")
	case <-time.After(50 * time.Millisecond): // as long as it takes to see that nothing happens
		rec := w.head.group
		rec.State = record.GroupCreated
		q.done(rec, "", nil)
		if a := take(t, "the answer", got); a.err != nil || a.state.State != "CREATED" {
			t.Errorf("%+v", a)
		}
	}
	w.none()
}

// A process that is gone asks nothing any more.
func TestAwaitGroup_ProcessIsGone_QuestionsEnd(t *testing.T) {
	w := newWaiting(t)
	w.ask("", -1)
	w.ask("PENDING", 600_000)
	first, second := take(t, "a question", w.head.asked), take(t, "a question", w.head.asked)
	w.pending.End()
	take(t, "the end of a question", first.canceled)
	take(t, "the end of a question", second.canceled)
	w.none()
}
