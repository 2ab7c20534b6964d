package head_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

func openClocked(t *testing.T, now int64) (*head.Head, *raftstate.Node, *placer) {
	s, p := openState(t, raftstate.Options{}), newPlacer()
	h, err := head.Open(head.Options{State: s, Placer: p, Groups: noGroups{}, NowMs: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	if err := h.AwaitReports(within(t)); err != nil {
		t.Fatal(err)
	}
	return h, s, p
}

func TestHead_WhatIsUnknown_IsNotFound(t *testing.T) {
	ctx := within(t)
	h, _, _ := openClocked(t, 1)
	_, job := h.Job(ctx, ids.JobOf(9))
	_, actor := h.Actor(ctx, ids.Actor{9})
	_, named := h.GetNamed(ctx, "ns", "n")
	_, waits := h.ResolveWait(ctx, ids.Actor{9}, 0)
	var ends error
	cancel := h.Ended(ids.Actor{9}, 1, func(_ record.Resolution, err error) { ends = err })
	if cancel() {
		t.Error("a question that was answered is cancelled")
	}
	for what, err := range map[string]error{"job": job, "actor": actor, "name": named, "wait": waits, "wait for its end": ends, "kill": h.KillActor(ctx, ids.Actor{9}, true)} {
		if !errors.Is(err, record.ErrNotFound) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// The end of no process ends no actor: without an owner, a filter matches all of them.
func TestHead_OwnerThatIsNoneDied_ActorsLive(t *testing.T) {
	ctx := within(t)
	h, _, _ := openClocked(t, 1)
	a := record.Actor{ID: ids.Actor{1}, Owner: ids.Owner{3: 1, 4: 5}}
	if err := h.CreateActor(ctx, a); err != nil {
		t.Fatal(err)
	}
	for _, o := range []ids.Owner{{}, a.Owner} {
		h.OwnerDied(o)
		if err := h.AwaitReports(ctx); err != nil {
			t.Fatal(err)
		}
		if now, err := h.Actor(ctx, a.ID); err != nil || now.Live() != (o != a.Owner) {
			t.Errorf("after the end of %s the actor lives: %v, %v", o, now.Live(), err)
		}
	}
}

func TestHead_Requests_TimesAreFilledInAndKept(t *testing.T) {
	ctx := within(t)
	h, s, _ := openClocked(t, 777)
	for i, given := range []int64{0, 5} {
		want := max(given, 777*(1-given)) // what was given, else the clock's
		id, err := h.StartJob(ctx, record.Job{StartedMs: given})
		if err != nil {
			t.Fatal(err)
		}
		if j, err := h.Job(ctx, id); err != nil || j.StartedMs != want {
			t.Errorf("job: got %+v, %v", j, err)
		}
		n := record.Node{ID: ids.Node{byte(i + 1)}, StartedMs: given}
		if err := h.RegisterNode(ctx, n); err != nil {
			t.Fatal(err)
		}
		if n, ok := s.Node(n.ID); !ok || n.StartedMs != want {
			t.Errorf("node: got %+v", n)
		}
		a := record.Actor{ID: ids.Actor{byte(i + 1)}, CreatedMs: given}
		if err := h.CreateActor(ctx, a); err != nil {
			t.Fatal(err)
		}
		if a, err := h.Actor(ctx, a.ID); err != nil || a.CreatedMs != want {
			t.Errorf("actor: got %+v, %v", a, err)
		}
	}
	jobs, err1 := h.Jobs(ctx)
	nodes, err2 := h.Nodes(ctx)
	sizes, err3 := h.Sizes(ctx)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 || len(nodes) != 2 || sizes["actors"] != 2 || sizes["jobs"] != 2 || sizes["nodes"] != 2 {
		t.Errorf("sizes %v", sizes)
	}
}

func TestHead_ListNamed_LivingOnesInOrder(t *testing.T) {
	ctx := within(t)
	h, _, _ := openClocked(t, 1)
	for i, name := range []string{"b/y", "a/z", "b/x", "a/gone", "a/"} {
		a := record.Actor{ID: ids.Actor{byte(i + 1)}, Namespace: name[:1], Name: name[2:]}
		if err := h.CreateActor(ctx, a); err != nil {
			t.Fatal(err)
		}
		if a.Name == "gone" {
			if err := h.KillActor(ctx, a.ID, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := func(namespace string, all bool) (out string) {
		names, err := h.ListNamed(ctx, namespace, all)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			out += fmt.Sprintf("%s/%s#%d ", n.Namespace, n.Name, n.Actor[0])
		}
		return out
	}
	if got := list("b", false); got != "b/x#3 b/y#1 " {
		t.Errorf("in b: %s", got)
	}
	if got := list("b", true); got != "a/z#2 b/x#3 b/y#1 " {
		t.Errorf("everywhere: %s", got)
	}
	if all, err := h.ActorsOf(ctx, record.ActorFilter{}); len(all) != 5 || err != nil {
		t.Errorf("%d actors, %v", len(all), err)
	}
}

// A kill of what is dead or restarts already is no error; one that lets the
// actor restart costs a restart.
func TestHead_KillActor_OnceMore_IsNoError(t *testing.T) {
	ctx := within(t)
	h, s, p := openClocked(t, 9)
	a := record.Actor{ID: ids.Actor{1}, MaxRestarts: 1}
	if err := h.CreateActor(ctx, a); err != nil {
		t.Fatal(err)
	}
	receive(t, ctx, "the first placing", p.placed)
	if err := h.KillActor(ctx, a.ID, false); err != nil {
		t.Fatal(err)
	}
	if again := receive(t, ctx, "the second placing", p.placed); again.Incarnation != 2 {
		t.Errorf("got incarnation %d", again.Incarnation)
	}
	for range 2 {
		if err := h.KillActor(ctx, a.ID, false); err != nil {
			t.Fatal(err)
		}
		if now, _ := s.Actor(a.ID); now.State != record.ActorDead || now.EndedMs != 9 || now.Cause.Reason != record.Killed {
			t.Errorf("got %+v", now)
		}
	}
	if err := h.KillActor(ctx, a.ID, true); err != nil {
		t.Error(err)
	}
}

// Reports about what is not there any more change nothing, are no trouble, and
// end a worker that started too late.
func TestHead_LateReports_AreDroppedAndTheWorkerStopped(t *testing.T) {
	ctx := within(t)
	var log bytes.Buffer
	p := newPlacer()
	h, err := head.Open(head.Options{State: openState(t, raftstate.Options{}), Placer: p, Groups: noGroups{}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	gone := record.Instance{Actor: ids.Actor{9}, Incarnation: 1, Node: ids.Node{1}, Worker: ids.Worker{1}, Address: "/s"}
	h.ActorPlaced(gone)
	h.ActorExited(gone, record.Cause{})
	h.ActorWorkerDied(gone, record.Cause{})
	h.ActorInfeasible(gone, "")
	h.ReleaseActor(gone.Actor)
	h.ActorStarted(gone)
	if i := receive(t, ctx, "the end of the late worker", p.stopped); i != gone {
		t.Errorf("stopped %+v", i)
	}
	if err := h.AwaitReports(ctx); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
	a := record.Actor{ID: ids.Actor{1}}
	if err := h.CreateActor(ctx, a); err != nil {
		t.Fatal(err)
	}
	told := make(chan record.Resolution, 1)
	h.Resolve(a.ID, 0, 0, func(r record.Resolution, _ error) { told <- r })
	if w, err := h.Sizes(ctx); w["waiters"] != 1 || w["tracked"] != 1 || err != nil {
		t.Errorf("sizes %v, %v", w, err)
	}
	h.ActorInfeasible(record.Instance{Actor: a.ID, Incarnation: 1}, "")
	if r := receive(t, ctx, "the answer", told); r.State != record.ActorUnschedulable || r.Message != "no node can take it" {
		t.Errorf("got %+v", r)
	}
}

// Who asks for an actor before it is registered hears when the actor is alive, or after his patience that it is
// unknown. Neither leaves anything behind.
func TestResolve_UnknownActor_IsWaitedFor(t *testing.T) {
	ctx, p := within(t), newPlacer()
	h := openHead(t, openState(t, raftstate.Options{}), p)
	late, never := record.Actor{ID: ids.Actor{1}}, ids.Actor{2}
	told, failed := make(chan record.Resolution, 1), make(chan error, 1)
	h.Resolve(late.ID, 0, patience, func(r record.Resolution, _ error) { told <- r })
	h.Resolve(never, 0, 50*time.Millisecond, func(_ record.Resolution, err error) { failed <- err })
	if err := receive(t, ctx, "the end of the patience", failed); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("the unknown actor: %v", err)
	}
	if err := h.CreateActor(ctx, late); err != nil {
		t.Fatal(err)
	}
	receive(t, ctx, "the actor's placing", p.placed)
	h.ActorStarted(record.Instance{Actor: late.ID, Incarnation: 1, Node: ids.Node{1}, Worker: ids.Worker{1}, Address: "/s"})
	if r := receive(t, ctx, "the actor's address", told); r.State != record.ActorAlive || r.Actor.Address != "/s" {
		t.Errorf("got %s", r)
	}
	cancel := h.Resolve(never, 0, patience, func(record.Resolution, error) { t.Error("a cancelled question was answered") })
	if !cancel() || cancel() {
		t.Error("the question was not cancelled once")
	}
	if sizes, err := h.Sizes(ctx); err != nil || sizes["tracked"] != 1 || sizes["waiters"] != 0 {
		t.Errorf("left behind: %v, %v", sizes, err)
	}
}

// A question for an unknown actor outlives a time in which events were missed, and ends with its patience only while
// the actor is unknown.
func TestResolve_UnknownActor_EventsAreMissed_StillHears(t *testing.T) {
	ctx, p := within(t), newPlacer()
	h := openHead(t, openState(t, raftstate.Options{KeptEvents: 2}), p)
	late := record.Actor{ID: ids.Actor{200}}
	told := make(chan error, 1)
	h.Resolve(late.ID, 0, 200*time.Millisecond, func(r record.Resolution, err error) { told <- err })
	for i := range 100 { // the head does not keep up with some of these
		if err := h.CreateActor(ctx, record.Actor{ID: ids.Actor{byte(i + 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.AwaitReports(ctx); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, ctx, "the end of the patience", told); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
