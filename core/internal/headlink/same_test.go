package headlink_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/record"
)

// step is one use of a daemon's head.
type step struct {
	name string
	do   func(ctx context.Context, h daemon.Head) (any, error)
}

type pair struct{ a, b any }

func actor(n byte) record.Actor {
	return record.Actor{
		ID: ids.Actor{n}, Job: ids.JobOf(1), ClassName: "A", Owner: owner(int(n)), MaxRestarts: 1, Spec: []byte{n, 's'}, Meta: []byte("meta"),
		Resources: record.Resources{"CPU": 10000}, Fallback: []record.Alternative{{ClassName: "B", Resources: record.Resources{"GPU": 5000}}},
	}
}

func named(n byte, name string) record.Actor {
	a := actor(n)
	a.Name, a.Namespace, a.Detached = name, "ns", true
	return a
}

func instance(n byte, incarnation uint64) record.Instance {
	return record.Instance{Actor: ids.Actor{n}, Incarnation: incarnation, Node: nodeID, Worker: ids.Worker{n}, Address: "/s", Pid: 9}
}

// waited returns what a question that waits is told.
func waited(ctx context.Context, ask func(done func(record.Resolution, error)) func() bool) (any, error) {
	type answer struct {
		r   record.Resolution
		err error
	}
	got := make(chan answer, 1)
	cancel := ask(func(r record.Resolution, err error) { got <- answer{r, err} })
	select {
	case a := <-got:
		return a.r, a.err
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
}

func resolve(n byte, after uint64) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		return waited(ctx, func(done func(record.Resolution, error)) func() bool {
			return h.Resolve(ids.Actor{n}, after, 5*time.Millisecond, done)
		})
	}
}

func ended(n byte, incarnation uint64) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		return waited(ctx, func(done func(record.Resolution, error)) func() bool { return h.Ended(ids.Actor{n}, incarnation, done) })
	}
}

func create(a record.Actor) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) { return nil, h.CreateActor(ctx, a) }
}

func report(do func(h daemon.Head)) func(context.Context, daemon.Head) (any, error) {
	return func(_ context.Context, h daemon.Head) (any, error) { do(h); return nil, nil }
}

func putCode(offset uint64, data string) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		return h.PutCode(ctx, nodeID, ids.Actor{9}, ids.Object{5}, 6, offset, []byte(data))
	}
}

func put(key, value string, overwrite bool) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		return h.PutKV(ctx, "ns", key, []byte(value), overwrite)
	}
}

func readKey(key string) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		p, found, err := h.ReadKey(ctx, key)
		p.Version = 0 // an index of the log
		return pair{p, found}, err
	}
}

// writeKey returns the outcome, and whether there is a version.
func writeKey(w record.KeyWrite) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		r, err := h.WriteKey(ctx, w)
		return pair{r.Outcome, r.Version > 0}, err
	}
}

func kill(n byte, noRestart bool) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		return nil, h.KillActor(ctx, ids.Actor{n}, noRestart)
	}
}

// group is a placement group of two bundles.
func group(n byte, name string) record.Group {
	return record.Group{
		ID: ids.Group{n}, Job: ids.JobOf(1), Name: name, Namespace: "ns", Owner: owner(int(n)), Strategy: "SPREAD",
		Bundles: []record.Bundle{{Resources: record.Resources{"CPU": 10000}}, {Resources: record.Resources{"GPU": 5000}, Labels: map[string]string{"l": "m"}}},
	}
}

func makeGroup(g record.Group) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) { return nil, h.CreateGroup(ctx, g) }
}

func removeGroup(n byte) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) { return nil, h.RemoveGroup(ctx, ids.Group{n}) }
}

func awaitGroup(n byte, seen record.GroupState) func(context.Context, daemon.Head) (any, error) {
	return func(ctx context.Context, h daemon.Head) (any, error) {
		type answer struct {
			found any
			err   error
		}
		got := make(chan answer, 1)
		cancel := h.AwaitGroup(ids.Group{n}, seen, 5*time.Millisecond, func(g record.Group, infeasible string, err error) {
			g.Ordinal = 0
			got <- answer{pair{g, infeasible}, err}
		})
		select {
		case a := <-got:
			return a.found, a.err
		case <-ctx.Done():
			cancel()
			return nil, ctx.Err()
		}
	}
}

// reads are all questions that change nothing.
func reads() []step {
	return []step{
		{"actor", func(ctx context.Context, h daemon.Head) (any, error) { return h.Actor(ctx, ids.Actor{1}) }},
		{"actor, unknown", func(ctx context.Context, h daemon.Head) (any, error) { return h.Actor(ctx, ids.Actor{99}) }},
		{"actors", func(ctx context.Context, h daemon.Head) (any, error) { return h.ActorsOf(ctx, record.ActorFilter{}) }},
		{"actors of an owner", func(ctx context.Context, h daemon.Head) (any, error) {
			return h.ActorsOf(ctx, record.ActorFilter{Owner: owner(2), Live: true})
		}},
		{"named", func(ctx context.Context, h daemon.Head) (any, error) { return h.GetNamed(ctx, "ns", "it") }},
		{"named, unknown", func(ctx context.Context, h daemon.Head) (any, error) { return h.GetNamed(ctx, "ns", "other") }},
		{"group", func(ctx context.Context, h daemon.Head) (any, error) { return h.Group(ctx, ids.Group{1}) }},
		{"group, unknown", func(ctx context.Context, h daemon.Head) (any, error) { return h.Group(ctx, ids.Group{99}) }},
		{"group by its name", func(ctx context.Context, h daemon.Head) (any, error) { return h.GroupNamed(ctx, "ns", "g") }},
		{"group by another name", func(ctx context.Context, h daemon.Head) (any, error) { return h.GroupNamed(ctx, "ns", "other") }},
		{"groups", func(ctx context.Context, h daemon.Head) (any, error) { return h.Groups(ctx) }},
		{"names", func(ctx context.Context, h daemon.Head) (any, error) { return h.ListNamed(ctx, "ns", false) }},
		{"all names", func(ctx context.Context, h daemon.Head) (any, error) { return h.ListNamed(ctx, "", true) }},
		{"nodes", func(ctx context.Context, h daemon.Head) (any, error) {
			list, err := h.Nodes(ctx)
			for i := range list {
				list[i].Wire = 0 // only a head behind a connection is told
			}
			return list, err
		}},
		{"jobs", func(ctx context.Context, h daemon.Head) (any, error) { return h.Jobs(ctx) }},
		{"value", func(ctx context.Context, h daemon.Head) (any, error) {
			v, found, err := h.GetKV(ctx, "ns", "a")
			return pair{v, found}, err
		}},
		{"empty value", func(ctx context.Context, h daemon.Head) (any, error) {
			v, found, err := h.GetKV(ctx, "ns", "empty")
			return pair{v, found}, err
		}},
		{"value, unknown", func(ctx context.Context, h daemon.Head) (any, error) {
			v, found, err := h.GetKV(ctx, "ns", "other")
			return pair{v, found}, err
		}},
		{"keys", func(ctx context.Context, h daemon.Head) (any, error) { return h.KVKeys(ctx, "ns", "a") }},
		{"no keys", func(ctx context.Context, h daemon.Head) (any, error) { return h.KVKeys(ctx, "ns", "z") }},
		{"class", func(ctx context.Context, h daemon.Head) (any, error) {
			data, size, found, err := h.Code(ctx, ids.Object{5}, 3)
			return []any{data, size, found}, err
		}},
		{"key", readKey("k/1")},
		{"key, unknown", readKey("k/none")},
		{"no key", readKey("")},
		{"keys of Go programs", func(ctx context.Context, h daemon.Head) (any, error) {
			l, err := h.ListKeys(ctx, "k/")
			for i := range l.Pairs {
				l.Pairs[i].Version, l.Pairs[i].Lease = 0, 0 // indexes of the log
			}
			return l, err
		}},
		{"changes of keys", func(ctx context.Context, h daemon.Head) (any, error) {
			at, err := h.ListKeys(ctx, "")
			if err != nil || at.Seq == 0 {
				return at.Seq, err
			}
			r, err := h.WatchKeys(ctx, "", at.Seq-1)
			for i := range r.List {
				r.List[i].Version, r.List[i].Lease = 0, 0
			}
			return r, err
		}},
		{"changes that were never made", func(ctx context.Context, h daemon.Head) (any, error) { return h.WatchKeys(ctx, "", 1<<40) }},
		{"sizes", func(ctx context.Context, h daemon.Head) (any, error) { return h.Sizes(ctx) }},
	}
}

// life is a history of a cluster that uses each method.
func life() []step {
	driver := record.Job{Namespace: "ns", Entrypoint: "x.py", Node: nodeID, Driver: ids.Owner{1}, Metadata: map[string]string{"k": "v"}}
	return []step{
		{"register", func(ctx context.Context, h daemon.Head) (any, error) {
			return nil, h.RegisterNode(ctx, record.Node{ID: nodeID, Number: nodeNumber, Address: "10.0.0.7", Resources: record.Resources{"CPU": 20000}, Labels: map[string]string{"l": "m"}})
		}},
		{"start a job", func(ctx context.Context, h daemon.Head) (any, error) { return h.StartJob(ctx, driver) }},
		{"create", create(actor(1))},
		{"create, again", create(actor(1))},
		{"create a named one", create(named(2, "it"))},
		{"create, name taken", create(named(3, "it"))},
		{"create a group", makeGroup(group(1, "g"))},
		{"create a group, again", makeGroup(group(1, "g"))},
		{"create a group, name taken", makeGroup(group(2, "g"))},
		{"create a group of nothing", makeGroup(record.Group{ID: ids.Group{2}})},
		{"create a second group", makeGroup(group(2, ""))},
		{"await a group", awaitGroup(1, record.GroupCreated)},
		{"await a group, unknown", awaitGroup(99, "")},
		{"remove a group", removeGroup(1)},
		{"remove a group, again", removeGroup(1)},
		{"remove a group, unknown", removeGroup(99)},
		{"await a removed group", awaitGroup(1, "")},
		{"placed", report(func(h daemon.Head) { h.ActorPlaced(instance(1, 1)) })},
		{"started", report(func(h daemon.Head) { h.ActorStarted(instance(1, 1)) })},
		{"resolve", resolve(1, 0)},
		{"resolve, unknown", resolve(99, 0)},
		{"kill, restarts", kill(1, false)},
		{"ended", ended(1, 1)},
		{"ended, unknown", ended(99, 1)},
		{"started again", report(func(h daemon.Head) { h.ActorStarted(instance(1, 2)) })},
		{"died", report(func(h daemon.Head) {
			h.ActorWorkerDied(instance(1, 2), record.Cause{Reason: record.WorkerDied, Message: "SIGKILL", Error: []byte("e")})
		})},
		{"resolve, dead", resolve(1, 0)},
		{"kill, unknown", kill(99, true)},
		{"infeasible", report(func(h daemon.Head) { h.ActorInfeasible(instance(2, 1), "too large") })},
		{"resolve, infeasible", resolve(2, 0)},
		{"start failed", report(func(h daemon.Head) {
			h.ActorStartFailed(instance(2, 1), record.Cause{Reason: record.StartFailed, Error: []byte("raised")})
		})},
		{"create a third", create(named(3, "it"))},
		{"create a fourth", create(actor(4))},
		{"start the fourth", report(func(h daemon.Head) { h.ActorStarted(instance(4, 1)) })},
		{"release", report(func(h daemon.Head) { h.ReleaseActor(ids.Actor{4}) })},
		{"exited", report(func(h daemon.Head) { h.ActorExited(instance(4, 1), record.Cause{}) })},
		{"create a fifth", create(actor(5))},
		{"its owner dies", report(func(h daemon.Head) { h.OwnerDied(owner(5)) })},
		{"class, first part", putCode(0, "abc")},
		{"class, the same part", putCode(0, "abc")},
		{"class, the rest", putCode(3, "def")},
		{"put", put("a", "1", false)},
		{"put, again", put("a", "2", false)},
		{"overwrite", put("a", "3", true)},
		{"put nothing", put("empty", "", false)},
		{"put another", put("ab", "x", false)},
		{"put a key", writeKey(record.KeyWrite{Key: "k/1", Value: []byte("a")})},
		{"put a key that is there", writeKey(record.KeyWrite{Key: "k/1", Value: []byte("b"), If: true})},
		{"put no key", writeKey(record.KeyWrite{Value: []byte("b")})},
		{"swap", func(ctx context.Context, h daemon.Head) (any, error) {
			p, _, err := h.ReadKey(ctx, "k/1")
			if err != nil {
				return nil, err
			}
			return writeKey(record.KeyWrite{Key: "k/1", Value: []byte("c"), If: true, Version: p.Version})(ctx, h)
		}},
		{"put with no lease", writeKey(record.KeyWrite{Key: "k/2", Lease: 1 << 40})},
		{"a lease", func(ctx context.Context, h daemon.Head) (any, error) {
			l, err := h.GrantKeyLease(ctx, 60_000)
			if err != nil {
				return nil, err
			}
			kept, err := h.KeepKeyLease(ctx, l.ID)
			if err != nil || !kept {
				return kept, err
			}
			if r, err := h.WriteKey(ctx, record.KeyWrite{Key: "k/2", Lease: l.ID}); err != nil || r.Outcome != record.KeyDone {
				return r, err
			}
			if err := h.EndKeyLease(ctx, l.ID); err != nil {
				return nil, err
			}
			kept, err = h.KeepKeyLease(ctx, l.ID)
			return pair{l.Outcome, kept}, errors.Join(err, h.EndKeyLease(ctx, l.ID))
		}},
		{"a lease that is too short", func(ctx context.Context, h daemon.Head) (any, error) { return h.GrantKeyLease(ctx, 5) }},
		{"delete a key", writeKey(record.KeyWrite{Key: "k/1", Delete: true})},
		{"delete a key again", writeKey(record.KeyWrite{Key: "k/1", Delete: true})},
		{"delete", func(ctx context.Context, h daemon.Head) (any, error) { return h.DelKV(ctx, "ns", "ab", true) }},
		{"kill for good", kill(3, true)},
		{"the class is not needed", report(func(h daemon.Head) { h.DropCode(ids.Actor{9}) })},
		{"the job ends", report(func(h daemon.Head) { h.EndJob(ids.JobOf(1), record.JobFinished, "done") })},
		{"create after the end", create(actor(6))},
	}
}

// sentinels of package record, by which callers tell errors apart.
var sentinels = []error{
	record.ErrNotFound, record.ErrNameTaken, record.ErrExists, record.ErrDead, record.ErrStale, record.ErrJobEnded, record.ErrNodeDead, record.ErrInvalid, record.ErrClosed,
	record.ErrMayHaveBeenApplied,
}

// sameError reports whether two errors are the same to every caller.
func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	for _, s := range sentinels {
		if errors.Is(a, s) != errors.Is(b, s) {
			return false
		}
	}
	var x, y *record.NameTakenError
	if errors.As(a, &x) != errors.As(b, &y) || x != nil && *x != *y {
		return false
	}
	return a.Error() == b.Error() && fault.CodeOf(a) == fault.CodeOf(b)
}

// Each method of a daemon's head does the same through the link as in the daemon's process, and the head orders the same.
func TestLink_EachMethod_IsAsInProcess(t *testing.T) {
	here, there := near(t), far(t)
	check := func(name string, s step) {
		t.Helper()
		want, wantErr := s.do(here.ctx, here.daemon)
		got, gotErr := s.do(there.ctx, there.daemon)
		// The logs of the two states may differ by an entry that changes nothing, such as the barrier of a new leader.
		if !reflect.DeepEqual(brief(got), brief(want)) || !sameError(gotErr, wantErr) {
			t.Errorf("%s%s:\n got %+v, %v\nwant %+v, %v", name, s.name, got, gotErr, want, wantErr)
		}
	}
	for _, s := range life() {
		check("", s)
		here.settle()
		there.settle()
		for _, r := range reads() {
			check("after "+s.name+": ", r)
		}
	}
	want, got := here.node.said(), there.node.said()
	if !reflect.DeepEqual(got, want) || len(want) < 8 {
		t.Errorf("the orders:\n got %q\nwant %q", got, want)
	}
}
