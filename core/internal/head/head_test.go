package head_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// placer tells a channel what it is asked.
type placer struct {
	placed  chan record.Actor
	stopped chan record.Instance
}

func newPlacer() *placer {
	return &placer{placed: make(chan record.Actor, 1000), stopped: make(chan record.Instance, 1000)}
}

func (p *placer) PlaceActor(a record.Actor)                  { p.placed <- a }
func (p *placer) StopActor(i record.Instance, how head.Stop) { p.stopped <- i }

// noGroups is never asked for anything.
type noGroups struct{ head.GroupPlacer }

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func receive[T any](t *testing.T, ctx context.Context, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-ctx.Done():
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

func openHead(t *testing.T, s head.State, p head.Placer) *head.Head {
	h, err := head.Open(head.Options{State: s, Placer: p, Groups: noGroups{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func openState(t *testing.T, o raftstate.Options) *raftstate.Node {
	o.ID = "a"
	s, err := raftstate.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestHead_ManyActorsFewEventsKept_EachIsPlacedOnce(t *testing.T) {
	ctx, p := within(t), newPlacer()
	h := openHead(t, openState(t, raftstate.Options{KeptEvents: 2}), p)
	const n = 200
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := h.CreateActor(ctx, record.Actor{ID: ids.Actor{byte(i + 1), byte(i >> 8)}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := h.AwaitReports(ctx); err != nil {
		t.Fatal(err)
	}
	seen := map[ids.Actor]bool{}
	for len(p.placed) > 0 {
		a := <-p.placed
		if seen[a.ID] {
			t.Errorf("actor %s is placed twice", a.ID)
		}
		seen[a.ID] = true
	}
	if len(seen) != n {
		t.Errorf("%d actors are placed, want %d", len(seen), n)
	}
}

func TestHead_Close_EndsWaits(t *testing.T) {
	ctx := within(t)
	h := openHead(t, openState(t, raftstate.Options{}), newPlacer())
	a := record.Actor{ID: ids.Actor{1}}
	if err := h.CreateActor(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := h.AwaitReports(ctx); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := h.ResolveWait(ctx, a.ID, 0)
		ended <- err
	}()
	h.Close()
	if err := receive(t, ctx, "the end of the wait", ended); !errors.Is(err, record.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if w, err := h.Sizes(within(t)); w["waiters"] != 0 || err != nil {
		t.Errorf("sizes %v, %v: waiters are left", w, err)
	}
	h.ActorStarted(record.Instance{Actor: a.ID, Incarnation: 1}) // dropped, not a panic
	if err := h.AwaitReports(ctx); !errors.Is(err, record.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestHead_ResolveWaitContextEnds_ReturnsItsError(t *testing.T) {
	h := openHead(t, openState(t, raftstate.Options{}), newPlacer())
	a := record.Actor{ID: ids.Actor{1}}
	if err := h.CreateActor(within(t), a); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.ResolveWait(ctx, a.ID, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if w, err := h.Sizes(within(t)); w["waiters"] != 0 || err != nil {
		t.Errorf("sizes %v, %v: waiters are left", w, err)
	}
	if _, err := h.ResolveWait(within(t), ids.Actor{9}, 0); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	h.ActorStarted(record.Instance{Actor: a.ID, Incarnation: 1, Worker: ids.Worker{1}, Address: "/s"})
	if r, err := h.ResolveWait(within(t), a.ID, 0); err != nil || r.State != record.ActorAlive {
		t.Errorf("got %v, %v", r, err)
	}
}

func TestHead_WaitersRaceWithStart_EachIsToldOnce(t *testing.T) {
	ctx := within(t)
	p := newPlacer()
	h := openHead(t, openState(t, raftstate.Options{}), p)
	for round := range 50 {
		a := record.Actor{ID: ids.Actor{byte(round), 1}}
		if err := h.CreateActor(ctx, a); err != nil {
			t.Fatal(err)
		}
		var told, waits sync.WaitGroup
		for range 4 {
			told.Add(1)
			waits.Go(func() {
				h.Resolve(a.ID, 0, 0, func(_ record.Resolution, err error) {
					if err != nil {
						t.Error(err)
					}
					told.Done()
				})
			})
		}
		h.ActorStarted(record.Instance{Actor: a.ID, Incarnation: 1, Worker: ids.Worker{1}, Address: "/s"})
		waits.Wait()
		told.Wait() // a second answer would panic
	}
}

func TestHead_Values_PassThrough(t *testing.T) {
	ctx := within(t)
	h := openHead(t, openState(t, raftstate.Options{}), newPlacer())
	if added, err := h.PutKV(ctx, "ns", "key", []byte("v"), true); err != nil || !added {
		t.Errorf("got %v, %v", added, err)
	}
	if v, ok, err := h.GetKV(ctx, "ns", "key"); !ok || string(v) != "v" || err != nil {
		t.Errorf("got %q, %v, %v", v, ok, err)
	}
	if keys, err := h.KVKeys(ctx, "ns", "k"); len(keys) != 1 || err != nil {
		t.Errorf("got %q, %v", keys, err)
	}
	if n, err := h.DelKV(ctx, "ns", "key", false); n != 1 || err != nil {
		t.Errorf("%d are deleted, %v", n, err)
	}
	if _, ok, err := h.GetKV(ctx, "ns", "key"); ok || err != nil {
		t.Errorf("a deleted key is there: %v, %v", ok, err)
	}
	if _, _, ok, err := h.Code(ctx, ids.Object{1}, 0); ok || err != nil {
		t.Errorf("a class that nobody has brought is there: %v, %v", ok, err)
	}
}

// quick makes elections short; a loaded machine may then lose a leader, which
// no test minds.
var quick = raftstate.Timing{Heartbeat: 200 * time.Millisecond, Election: 200 * time.Millisecond, Lease: 150 * time.Millisecond, Commit: 10 * time.Millisecond}

// members is a group of three heads.
type members struct {
	net    *raftstate.MemoryNet
	ids    []string
	states map[string]*raftstate.Node
	heads  map[string]*head.Head
	placer map[string]*placer
}

func openMembers(t *testing.T) *members {
	m := &members{ids: []string{"a", "b", "c"}, states: map[string]*raftstate.Node{}, heads: map[string]*head.Head{}, placer: map[string]*placer{}}
	m.net = raftstate.NewMemoryNet(m.ids...)
	for _, id := range m.ids {
		s, err := m.net.Open(id, raftstate.Options{Timing: quick})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		m.states[id], m.placer[id] = s, newPlacer()
		m.heads[id] = openHead(t, s, m.placer[id])
	}
	return m
}

// leader returns the head that leads beside those excepted.
func (m *members) leader(t *testing.T, ctx context.Context, except string) string {
	found := make(chan string, len(m.ids))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, id := range m.ids {
		if id != except {
			go func() {
				if m.heads[id].AwaitReports(ctx) == nil {
					found <- id
				}
			}()
		}
	}
	return receive(t, ctx, "a leader", found)
}

// placed waits until the head that leads has had the actor placed.
func (m *members) placed(t *testing.T, ctx context.Context, id ids.Actor, except string) {
	t.Helper()
	leader := m.leader(t, ctx, except)
	for receive(t, ctx, "head "+leader+" to place "+id.String(), m.placer[leader].placed).ID != id {
	}
}

func TestHead_ThreeHeads_AnyServesAndALeaderTakesOver(t *testing.T) {
	ctx, m := within(t), openMembers(t)
	first := m.leader(t, ctx, "")
	var followers []string
	for _, id := range m.ids {
		if id != first {
			followers = append(followers, id)
		}
	}
	running, pending := record.Actor{ID: ids.Actor{1}}, record.Actor{ID: ids.Actor{2}}
	told := make(chan record.Resolution, 1)
	for _, a := range []record.Actor{running, pending} {
		if err := m.heads[followers[0]].CreateActor(ctx, a); err != nil {
			t.Fatal(err)
		}
		// What a follower wrote it can read.
		if _, err := m.heads[followers[0]].Actor(ctx, a.ID); err != nil {
			t.Fatal(err)
		}
		m.placed(t, ctx, a.ID, "")
	}
	m.heads[followers[0]].Resolve(running.ID, 0, 0, func(r record.Resolution, _ error) { told <- r })
	m.heads[followers[1]].ActorStarted(record.Instance{Actor: running.ID, Incarnation: 1, Worker: ids.Worker{1}, Address: "/s"})
	if r := receive(t, ctx, "the follower's waiter", told); r.State != record.ActorAlive {
		t.Errorf("got %s", r)
	}
	m.net.Cut(first, true)
	m.placed(t, ctx, pending.ID, first)
}
