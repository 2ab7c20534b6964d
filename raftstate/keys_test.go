package raftstate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate/internal/keyspace"
)

// mustWrite changes a key and returns the version.
func mustWrite(t *testing.T, ctx context.Context, n *Node, w record.KeyWrite) uint64 {
	t.Helper()
	r, err := n.WriteKey(ctx, w)
	if err != nil || r.Outcome != record.KeyDone {
		t.Fatalf("%+v: got %+v, %v", w, r, err)
	}
	return r.Version
}

// The version of a key is the log index of its last change, and what a change expects is compared with it. A change that is sent again under
// the name of its request is made once, also by a member that was opened again.
func TestNode_WriteKey_ComparesAndRepeats(t *testing.T) {
	ctx, stores := testContext(t), NewMemoryStores()
	n, err := Open(Options{ID: "a", Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	first := mustWrite(t, ctx, n, record.KeyWrite{Key: "a", Value: []byte("1"), If: true})
	named := record.Request{Client: [16]byte{1}, Number: 1}.With(ctx)
	swap := record.KeyWrite{Key: "a", Value: []byte("2"), If: true, Version: first}
	second := mustWrite(t, named, n, swap)
	if second <= first {
		t.Errorf("version %d came after %d", second, first)
	}
	if r, err := n.WriteKey(ctx, swap); err != nil || r != (record.KeyWritten{Outcome: record.KeyConflict, Version: second}) {
		t.Errorf("a second change from the same version: %+v, %v", r, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err = Open(Options{ID: "a", Stores: stores}); err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if r, err := n.WriteKey(named, swap); err != nil || r != (record.KeyWritten{Version: second}) {
		t.Errorf("the change sent again: %+v, %v", r, err)
	}
	if err := n.Fresh(ctx); err != nil {
		t.Fatal(err)
	}
	if p, found := n.Key("a"); !found || string(p.Value) != "2" || p.Version != second {
		t.Errorf("got %+v, %v", p, found)
	}
	if l := n.ListKeys("a"); len(l.Pairs) != 1 || l.Pairs[0].Version != second || l.Seq != 2 || len(n.ListKeys("b").Pairs) != 0 {
		t.Errorf("the list is %+v", l)
	}
	if r, err := n.WriteKey(ctx, record.KeyWrite{Key: "none", Delete: true}); err != nil || r != (record.KeyWritten{}) {
		t.Errorf("nothing to delete: %+v, %v", r, err)
	}
	if _, err := n.WriteKey(ctx, record.KeyWrite{}); !errors.Is(err, record.ErrInvalid) {
		t.Errorf("no key: %v", err)
	}
}

// A watch that waits is woken by a change that concerns it, by a snapshot that is installed, and by the end.
func TestNode_WatchKeys_WaitsAndGoesOn(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	type answer struct {
		r   record.KeyChanges
		err error
	}
	watch := func(ctx context.Context, prefix string, from uint64) <-chan answer {
		got := make(chan answer, 1)
		go func() {
			r, err := n.WatchKeys(ctx, prefix, from)
			got <- answer{r, err}
		}()
		return got
	}
	got := watch(ctx, "b", 0)
	mustWrite(t, ctx, n, record.KeyWrite{Key: "a", Value: []byte("1")})
	select {
	case a := <-got:
		t.Fatalf("a key that it does not watch: %+v", a)
	default:
	}
	version := mustWrite(t, ctx, n, record.KeyWrite{Key: "b", Value: []byte("2")})
	if a := <-got; a.err != nil || len(a.r.List) != 1 || a.r.List[0].Seq != 2 || a.r.List[0].Version != version || a.r.Next != 2 {
		t.Errorf("got %+v", a)
	}
	if a := <-watch(ctx, "", 3); a.err != nil || !a.r.Compacted {
		t.Errorf("a change that was not made yet: %+v", a)
	}
	ending, end := context.WithCancel(ctx)
	got = watch(ending, "", 2)
	end()
	if a := <-got; !errors.Is(a.err, context.Canceled) {
		t.Errorf("after its context: %+v", a)
	}
	got = watch(ctx, "", 2)
	later := NewMachine()
	for i := range uint64(3) {
		later.Apply(i+1, Command{Body: &KeyWrite{record.KeyWrite{Key: "c"}}})
	}
	if err := n.fsm.Restore(readCloser(snapshot(t, later))); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.err != nil || len(a.r.List) != 1 || a.r.List[0].Seq != 3 {
		t.Errorf("after a snapshot: %+v", a)
	}
	got = watch(ctx, "", 3)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-got; !errors.Is(a.err, record.ErrClosed) {
		t.Errorf("after the end: %+v", a)
	}
}

// A change wakes the watches whom it concerns, and no others; a watch that is not concerned for long is woken so that it keeps up. Nobody is remembered who waits no more.
func TestFSM_ManyWatches_OnlyThoseConcernedWake(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	for range 600 {
		mustWrite(t, ctx, n, record.KeyWrite{Key: "before"})
	}
	var watches []*keyWatch
	for i := range 100 {
		_, w := n.fsm.keysSince(fmt.Sprintf("%02d/", i), 600)
		watches = append(watches, w)
	}
	woken := func() (list []int) {
		for i, w := range watches {
			select {
			case <-w.wake:
				list = append(list, i)
			default:
			}
		}
		return list
	}
	mustWrite(t, ctx, n, record.KeyWrite{Key: "07/a"})
	mustWrite(t, ctx, n, record.KeyWrite{Key: "07/a"})
	l, err := n.GrantKeyLease(ctx, 5000)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, ctx, n, record.KeyWrite{Key: "42/a", Lease: l.ID})
	if got := woken(); !slices.Equal(got, []int{7, 42}) || len(n.fsm.watches) != 98 {
		t.Errorf("woken are %v, %d wait", got, len(n.fsm.watches))
	}
	n.fsm.unwatch(watches[8])
	for range keyspace.ProgressAfter - 4 {
		mustWrite(t, ctx, n, record.KeyWrite{Key: "none"})
	}
	if got := woken(); len(got) != 2 {
		t.Errorf("woken are %v", got)
	}
	mustWrite(t, ctx, n, record.KeyWrite{Key: "none"})
	if got := woken(); len(got) != 99 || len(n.fsm.watches) != 0 {
		t.Errorf("so that they keep up, %d are woken, and %d wait", len(got), len(n.fsm.watches))
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := n.WatchKeys(ended, "", n.fsm.machine.keys.Seq()); !errors.Is(err, context.Canceled) || len(n.fsm.watches) != 0 {
		t.Errorf("after its end %d wait, %v", len(n.fsm.watches), err)
	}
}

// A lease that an earlier leadership wants to end stays, and its keys with it.
func TestNode_EndKeyLease_OfAnEarlierReign_IsStale(t *testing.T) {
	ctx, n := testContext(t), openLone(t)
	at := n.Now()
	event := func() record.Event {
		t.Helper()
		for {
			b, err := n.Watch(ctx, at)
			if err != nil {
				t.Fatal(err)
			}
			if at = b.Next; len(b.Events) > 0 {
				return b.Events[0]
			}
		}
	}
	l, err := n.GrantKeyLease(ctx, 5000)
	if err != nil || l.ID == 0 {
		t.Fatalf("got %+v, %v", l, err)
	}
	if e := event(); e.Kind != record.KeyLeaseEvent || e.Lease == nil || *e.Lease != (record.KeyLease{ID: l.ID, TTLMs: 5000}) {
		t.Errorf("the event is %+v", e)
	}
	mustWrite(t, ctx, n, record.KeyWrite{Key: "a", Lease: l.ID})
	old, err := n.BeginKeyReign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	reign, err := n.BeginKeyReign(ctx)
	if err != nil || reign <= old || n.KeyReign() != reign {
		t.Fatalf("reign %d after %d, %d in the state, %v", reign, old, n.KeyReign(), err)
	}
	if err := n.EndKeyLease(ctx, l.ID, old); !errors.Is(err, record.ErrStale) {
		t.Errorf("the end in an earlier reign: %v", err)
	}
	if got, found := n.KeyLease(l.ID); !found || got.TTLMs != 5000 || len(n.KeyLeases()) != 1 {
		t.Errorf("the lease is %+v, %v", got, found)
	}
	if err := n.EndKeyLease(ctx, l.ID, reign); err != nil {
		t.Error(err)
	}
	if e := event(); e.Lease == nil || *e.Lease != (record.KeyLease{ID: l.ID, TTLMs: 5000, Ended: true}) {
		t.Errorf("the event is %+v", e)
	}
	if _, found := n.Key("a"); found {
		t.Error("the key has outlived its lease")
	}
	if err := n.EndKeyLease(ctx, l.ID, reign); err != nil {
		t.Errorf("the end once more: %v", err)
	}
	if r, err := n.WriteKey(ctx, record.KeyWrite{Key: "a", Lease: l.ID}); err != nil || r.Outcome != record.KeyLeaseGone {
		t.Errorf("a key with a lease that has ended: %+v, %v", r, err)
	}
}

// A fresh read at any member shows every change that was acknowledged before it, also when the member was cut off meanwhile.
func TestCluster_Fresh_ShowsWhatWasAcknowledged(t *testing.T) {
	c := openCluster(t)
	leader, followers := c.leader("")
	for i := range 20 {
		value := strings.Repeat("x", i)
		mustWrite(t, c.ctx, leader, record.KeyWrite{Key: "a", Value: []byte(value)})
		if err := followers[i%2].Fresh(c.ctx); err != nil {
			t.Fatal(err)
		}
		if p, _ := followers[i%2].Key("a"); string(p.Value) != value {
			t.Fatalf("a follower shows %q, acknowledged was %q", p.Value, value)
		}
	}
	old := leader.opts.ID
	c.net.Cut(old, true)
	next, _ := c.leader(old)
	mustWrite(t, c.ctx, next, record.KeyWrite{Key: "a", Value: []byte("new")})
	ctx, cancel := context.WithTimeout(c.ctx, 50e6)
	defer cancel()
	if err := leader.Fresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
		p, _ := leader.Key("a")
		t.Errorf("a leader that is cut off answers with %q, %v", p.Value, err)
	}
	c.net.Cut(old, false)
	if err := leader.Fresh(c.ctx); err != nil {
		t.Fatal(err)
	}
	if p, _ := leader.Key("a"); string(p.Value) != "new" {
		t.Errorf("after it has come back: %q", p.Value)
	}
}

// Fresh reads that wait at the same time share commits.
func TestCluster_ManyFreshReads_ShareCommits(t *testing.T) {
	c := openCluster(t)
	leader, _ := c.leader("")
	mustWrite(t, c.ctx, leader, record.KeyWrite{Key: "a"})
	before := leader.raft.LastIndex()
	var all sync.WaitGroup
	for range 500 {
		all.Go(func() {
			if err := leader.Fresh(c.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := leader.raft.LastIndex() - before; n == 0 || n > 400 {
		t.Errorf("500 reads cost %d commits", n)
	}
	lone := openLone(t)
	before = lone.raft.LastIndex()
	if err := lone.Fresh(c.ctx); err != nil || lone.raft.LastIndex() != before {
		t.Errorf("a member without others commits for a read: %v", err)
	}
}
