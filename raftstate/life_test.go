package raftstate

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// full is an actor's record in which every field is set, as a caller might
// send it.
func full() record.Actor {
	a := record.Actor{ID: ids.Actor{1}, Name: "n", Namespace: "ns"}
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet() || !f.IsZero():
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.CanInt():
			f.SetInt(3)
		case f.CanUint():
			f.SetUint(3)
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.Type() == reflect.TypeFor[[]byte]():
			f.SetBytes([]byte("x"))
		case f.Type() == reflect.TypeFor[ids.Node]():
			f.Set(reflect.ValueOf(ids.Node{3}))
		case f.Type() == reflect.TypeFor[ids.Worker]():
			f.Set(reflect.ValueOf(ids.Worker{3}))
		case f.Type() == reflect.TypeFor[record.Cause]():
			f.Set(reflect.ValueOf(record.Cause{Reason: record.Killed, Message: "x"}))
		case f.Type() == reflect.TypeFor[record.Instance]():
			f.Set(reflect.ValueOf(record.Instance{Actor: ids.Actor{3}, Incarnation: 3}))
		}
	}
	return a
}

// An actor's whole record after each step of its life: what a caller sends of
// it as if it had lived already does not count.
func TestMachine_ActorsLife_WholeRecord(t *testing.T) {
	m, index := NewMachine(), uint64(10)
	apply := func(b Body, want Outcome, changes bool) {
		t.Helper()
		index++
		r, events := m.Apply(index, Command{Body: b})
		if r.Outcome != want || (len(events) == 1) != changes {
			t.Fatalf("%T: outcome %d and %d events", b, r.Outcome, len(events))
		}
	}
	want := full()
	holds := func(step string) {
		t.Helper()
		if got, ok := m.Actor(want.ID); !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %+v, want %+v", step, got, want)
		}
	}
	apply(&RegisterActor{Actor: full()}, Done, true)
	want.Ordinal, want.State, want.Incarnation = 11, record.ActorPending, record.FirstIncarnation
	want.NumRestarts, want.Preempted, want.Released, want.Cause = 0, 0, false, record.Cause{}
	want.Node, want.Worker, want.Address, want.Pid = ids.Node{}, ids.Worker{}, "", 0
	want.StartedMs, want.EndedMs, want.LateRefs, want.Previous = 0, 0, false, record.Instance{}
	want.Fence = record.Instance{}
	holds("registered")

	first := record.Instance{Actor: want.ID, Incarnation: 1, Node: ids.Node{7}, Worker: ids.Worker{7}, Address: "/s", Pid: 7}
	second := record.Instance{Actor: want.ID, Incarnation: 1, Node: ids.Node{8}, Worker: ids.Worker{8}, Address: "/t", Pid: 8, LateRefs: true}
	apply(&ActorPlaced{first}, Done, true)
	want.Node = first.Node
	holds("placed")
	apply(&ActorAlive{second, 50}, Done, true)
	want.State, want.StartedMs, want.LateRefs = record.ActorAlive, 50, true
	want.Node, want.Worker, want.Address, want.Pid = second.Node, second.Worker, second.Address, second.Pid
	holds("alive")
	apply(&ActorAlive{second, 60}, Done, false) // told again
	apply(&ActorAlive{first, 60}, Stale, false) // another worker
	apply(&ActorPlaced{first}, Stale, false)
	holds("told again")

	crash := record.Cause{Reason: record.WorkerDied, Message: "crashed"}
	apply(&ActorRestarting{want.ID, 2, crash}, Stale, false)
	apply(&ActorRestarting{want.ID, 1, crash}, Done, true)
	want.State, want.Incarnation, want.NumRestarts, want.Cause = record.ActorRestarting, 2, 1, crash
	want.Previous, want.StartedMs, want.LateRefs = second, 0, false
	want.Node, want.Worker, want.Address, want.Pid = ids.Node{}, ids.Worker{}, "", 0
	holds("restarts")
	apply(&ActorAlive{first, 60}, Stale, false)

	killed := record.Cause{Reason: record.Killed, Message: "by hand"}
	apply(&ActorDead{want.ID, 1, killed, 70}, Stale, false)
	apply(&ActorDead{want.ID, 0, killed, 70}, Done, true)
	want.State, want.Cause, want.EndedMs = record.ActorDead, killed, 70
	want.Spec, want.Meta, want.RunResources, want.Fallback, want.Home = nil, nil, nil, nil, nil
	holds("dead")
	apply(&ActorDead{want.ID, 0, killed, 80}, Dead, false)
	apply(&ActorReleased{want.ID}, Dead, false)
	apply(&ActorReleased{ids.Actor{9}}, NotFound, false)
	holds("told again")
}

// Nobody starts an actor on a node that is dead: who wanted that chooses another one.
func TestMachine_ActorPlaced_NodeIsDead_IsRefused(t *testing.T) {
	m := NewMachine()
	apply := func(index uint64, b Body) Outcome {
		r, _ := m.Apply(index, Command{Body: b})
		return r.Outcome
	}
	apply(1, &RegisterNode{record.Node{ID: ids.Node{7}}})
	apply(2, &RegisterActor{Actor: record.Actor{ID: ids.Actor{1}}})
	apply(3, &NodeDead{ID: ids.Node{7}})
	if o := apply(4, &ActorPlaced{record.Instance{Actor: ids.Actor{1}, Incarnation: 1, Node: ids.Node{7}}}); o != NodeGone {
		t.Errorf("outcome %d", o)
	}
	if a, _ := m.Actor(ids.Actor{1}); a.Node != (ids.Node{}) {
		t.Errorf("it is on node %s", a.Node)
	}
}

// A command that makes no sense is refused before it reaches the log.
func TestBody_Check_RefusesWhatMakesNoSense(t *testing.T) {
	id, i := ids.Actor{1}, record.Instance{Actor: ids.Actor{1}, Worker: ids.Worker{1}, Address: "/s"}
	for _, b := range []Body{
		&RegisterActor{record.Actor{}}, &RegisterActor{record.Actor{ID: id, MaxRestarts: -2}}, &RegisterNode{record.Node{}},
		&ActorAlive{record.Instance{Actor: id, Worker: i.Worker}, 1}, &ActorAlive{record.Instance{Actor: id, Address: "/s"}, 1},
		&ActorAlive{record.Instance{Actor: id}, 1}, &JobEnd{State: record.JobRunning}, &SettingPut{},
		&KeyWrite{}, &KeyWrite{record.KeyWrite{Key: "a", Delete: true, Value: []byte("v")}}, &KeyWrite{record.KeyWrite{Key: "a", Delete: true, Lease: 1}},
		&KeyWrite{record.KeyWrite{Key: strings.Repeat("a", record.MaxKeyBytes+1)}}, &KeyWrite{record.KeyWrite{Key: "\xff"}},
		&KeyWrite{record.KeyWrite{Key: "a", Value: make([]byte, record.MaxValueBytes+1)}},
		&KeyLeaseGrant{999}, &KeyLeaseGrant{3_600_001}, &KeyLeaseGrant{1 << 62},
	} {
		if b.check() == nil {
			t.Errorf("%T %+v is let through", b, b)
		}
	}
	for _, b := range []Body{
		&RegisterActor{record.Actor{ID: id, MaxRestarts: -1}}, &RegisterActor{record.Actor{ID: id}}, &RegisterNode{record.Node{ID: ids.Node{1}}},
		&ActorAlive{i, 1}, &JobEnd{State: record.JobFinished}, &JobEnd{State: record.JobLost}, &SettingPut{Name: "s"},
		&KeyWrite{record.KeyWrite{Key: strings.Repeat("a", record.MaxKeyBytes), Value: make([]byte, record.MaxValueBytes)}}, &KeyLeaseGrant{1000}, &KeyLeaseGrant{3_600_000},
	} {
		if err := b.check(); err != nil {
			t.Errorf("%T %+v: %v", b, b, err)
		}
	}
}

// Each outcome is an error that says what the command was about.
func TestResult_Err_OfEachOutcome(t *testing.T) {
	b := &SettingDel{Name: "colour"}
	for outcome, want := range map[Outcome]error{
		NotFound: record.ErrNotFound, NameTaken: record.ErrNameTaken, Exists: record.ErrExists, Dead: record.ErrDead, Stale: record.ErrStale,
		JobOver: record.ErrJobEnded, NodeGone: record.ErrNodeDead, Expired: ErrExpired,
	} {
		if err := (Result{Outcome: outcome}).err(b); !errors.Is(err, want) || !strings.Contains(err.Error(), `setting "colour"`) {
			t.Errorf("outcome %d: got %v, want %v", outcome, err, want)
		}
	}
	if err := (Result{Outcome: 77}).err(b); err == nil || !strings.Contains(err.Error(), "outcome 77") {
		t.Errorf("an outcome of a later version: %v", err)
	}
	if err := (Result{}).err(b); err != nil {
		t.Errorf("a command that was done: %v", err)
	}
}

type answers func(ctx context.Context) ([]byte, error)

func (f answers) Forward(ctx context.Context, _, _ string, _ []byte) ([]byte, error) { return f(ctx) }

// What the leader's answer tells of a forwarded command: whether it may have
// been applied, and whether to send it again.
func TestCluster_ForwardersAnswers_TellWhatIsKnown(t *testing.T) {
	c := openCluster(t)
	_, followers := c.leader("")
	c.put(followers[0], "first")
	f := followers[0]
	good := f.opts.Forwarder
	defer func() { f.opts.Forwarder = good }()
	command, err := encode(Command{Request: f.NewRequest(), Body: &SettingDel{Name: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	result := func(index uint64) []byte {
		b, err := encodeResult(Result{Index: index, Count: 5})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, x := range []struct {
		name   string
		answer []byte
		err    error
		want   attempt
		is     error
	}{
		{"does not lead", nil, ErrNotLeader, refused, ErrNotLeader},
		{"does not know the command", nil, ErrUnknownCommand, final, ErrUnknownCommand},
		{"is not heard", nil, context.DeadlineExceeded, maybeApplied, context.DeadlineExceeded},
		{"answers nonsense", []byte{0xc1}, nil, maybeApplied, nil},
		{"has applied what is not here yet", result(1 << 40), nil, final, record.ErrMayHaveBeenApplied},
		{"has applied it", result(1), nil, final, nil},
	} {
		f.opts.Forwarder = answers(func(context.Context) ([]byte, error) { return x.answer, x.err })
		ctx, cancel := context.WithCancel(c.ctx)
		if x.is == record.ErrMayHaveBeenApplied {
			cancel() // it would wait for ever
		}
		r, known, err := f.try(ctx, command, 0)
		cancel()
		for id := f.Leader(); (id == "" || id == f.opts.ID) && c.ctx.Err() == nil; id = f.Leader() { // an election came between
			c.leader("")
			r, known, err = f.try(ctx, command, 0)
		}
		failed := x.err != nil || x.is != nil || x.want == maybeApplied
		if known != x.want || !errors.Is(err, x.is) && x.is != nil || (err != nil) != failed || !failed && r.Count != 5 {
			t.Errorf("the leader %s: got %+v, %d, %v; want %d", x.name, r, known, err, x.want)
		}
	}
}

// Without a way to the leader a member says that it does not lead.
func TestNode_NoForwarder_IsNotLeader(t *testing.T) {
	c := openCluster(t)
	_, followers := c.leader("")
	f := followers[0]
	good := f.opts.Forwarder
	defer func() { f.opts.Forwarder = good }()
	f.opts.Forwarder = nil
	ctx, cancel := context.WithTimeout(c.ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := f.PutKV(ctx, "ns", "k", nil, true); err == nil || errors.Is(err, record.ErrMayHaveBeenApplied) {
		t.Errorf("got %v", err)
	}
}

// Close waits for what waits for raft, and only then stops it.
func TestNode_Close_WaitsForCommandsUnderWay(t *testing.T) {
	n, err := Open(Options{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if !n.enter() {
		t.Fatal("an open member refuses a wait")
	}
	closed := make(chan error, 1)
	go func() { closed <- n.Close() }()
	<-n.stop
	for entered := true; entered; { // until the member is halted
		if entered = n.enter(); entered {
			n.inside.Done()
		}
	}
	select {
	case err := <-closed:
		t.Errorf("closed while a command is under way: %v", err)
	default:
	}
	if n.raft.State() == raft.Shutdown {
		t.Error("raft ended while a command is under way")
	}
	n.inside.Done()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A lone member leads at once: it does not wait for others' heartbeats.
func TestNode_Alone_LeadsLongBeforeTheElectionTimeout(t *testing.T) {
	ctx := testContext(t)
	n, err := Open(Options{ID: "a", Timing: Timing{Heartbeat: 10 * time.Minute, Election: 10 * time.Minute, Lease: 10 * time.Minute, Commit: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	if err := n.WaitLeader(ctx); err != nil {
		t.Error(err)
	}
}

// A restored state wakes who waits for it.
func TestFSM_Restore_WakesWhoWaits(t *testing.T) {
	var o Options
	o.ID = "a"
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFSM(o, false)
	m := NewMachine()
	m.Apply(5, Command{Body: &SettingPut{Name: "s"}})
	waits := f.reached(5)
	if err := f.Restore(readCloser(snapshot(t, m))); err != nil {
		t.Fatal(err)
	}
	select {
	case <-waits:
	default:
		t.Error("who waits is not woken")
	}
	if f.reached(5) != nil || f.reached(6) == nil {
		t.Error("the restored state is at another index")
	}
	if err := f.Restore(readCloser([]byte("no snapshot"))); err == nil {
		t.Error("what is no snapshot is restored")
	}
}
