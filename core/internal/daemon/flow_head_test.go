package daemon_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/tests/await"
)

// farHead is a head that is far away: the test says what happens to a read before it reaches
// the head.
type farHead struct {
	daemon.Head

	mu      sync.Mutex
	trouble func(ctx context.Context, read string) error
	owners  []ids.Owner // whose deaths were reported
}

// startFar begins a session whose head is far away.
func startFar(t *testing.T) (*play.Session, *farHead) {
	h := &farHead{}
	s := play.StartBehind(t, 2, func(real daemon.Head) daemon.Head {
		h.Head = real
		return h
	})
	return s, h
}

// set changes what happens to reads from now on; nil: nothing.
func (h *farHead) set(trouble func(ctx context.Context, read string) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trouble = trouble
}

// reach is called for each read. The lock is not held while the read is in trouble.
func (h *farHead) reach(ctx context.Context, read string) error {
	if trouble := h.now(); trouble != nil {
		return trouble(ctx, read)
	}
	return nil
}

func (h *farHead) now() func(context.Context, string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.trouble
}

func (h *farHead) Actor(ctx context.Context, id ids.Actor) (record.Actor, error) {
	if err := h.reach(ctx, "Actor"); err != nil {
		return record.Actor{}, err
	}
	return h.Head.Actor(ctx, id)
}

func (h *farHead) ActorsOf(ctx context.Context, f record.ActorFilter) ([]record.Actor, error) {
	if err := h.reach(ctx, "ActorsOf"); err != nil {
		return nil, err
	}
	return h.Head.ActorsOf(ctx, f)
}

func (h *farHead) GetNamed(ctx context.Context, namespace, name string) (record.Actor, error) {
	if err := h.reach(ctx, "GetNamed"); err != nil {
		return record.Actor{}, err
	}
	return h.Head.GetNamed(ctx, namespace, name)
}

func (h *farHead) ListNamed(ctx context.Context, namespace string, all bool) ([]record.Named, error) {
	if err := h.reach(ctx, "ListNamed"); err != nil {
		return nil, err
	}
	return h.Head.ListNamed(ctx, namespace, all)
}

func (h *farHead) Nodes(ctx context.Context) ([]record.Node, error) {
	if err := h.reach(ctx, "Nodes"); err != nil {
		return nil, err
	}
	return h.Head.Nodes(ctx)
}

func (h *farHead) Jobs(ctx context.Context) ([]record.Job, error) {
	if err := h.reach(ctx, "Jobs"); err != nil {
		return nil, err
	}
	return h.Head.Jobs(ctx)
}

func (h *farHead) GetKV(ctx context.Context, namespace, key string) ([]byte, bool, error) {
	if err := h.reach(ctx, "GetKV"); err != nil {
		return nil, false, err
	}
	return h.Head.GetKV(ctx, namespace, key)
}

func (h *farHead) KVKeys(ctx context.Context, namespace, prefix string) ([]string, error) {
	if err := h.reach(ctx, "KVKeys"); err != nil {
		return nil, err
	}
	return h.Head.KVKeys(ctx, namespace, prefix)
}

func (h *farHead) Code(ctx context.Context, object ids.Object, offset uint64) ([]byte, uint64, bool, error) {
	if err := h.reach(ctx, "Code"); err != nil {
		return nil, 0, false, err
	}
	return h.Head.Code(ctx, object, offset)
}

func (h *farHead) Sizes(ctx context.Context) (map[string]int, error) {
	if err := h.reach(ctx, "Sizes"); err != nil {
		return nil, err
	}
	return h.Head.Sizes(ctx)
}

// ask has a question of the two that do not wait reach the head later, or end in an error.
func (h *farHead) ask(read string, done func(record.Resolution, error), ask func(func(record.Resolution, error)) func() bool) func() bool {
	if h.now() == nil {
		return ask(done)
	}
	go func() {
		if err := h.reach(context.Background(), read); err != nil {
			done(record.Resolution{}, err)
			return
		}
		ask(done)
	}()
	return func() bool { return false }
}

func (h *farHead) Resolve(id ids.Actor, after uint64, patience time.Duration, done func(record.Resolution, error)) func() bool {
	return h.ask("Resolve", done, func(f func(record.Resolution, error)) func() bool { return h.Head.Resolve(id, after, patience, f) })
}

func (h *farHead) Ended(id ids.Actor, incarnation uint64, done func(record.Resolution, error)) func() bool {
	return h.ask("Ended", done, func(f func(record.Resolution, error)) func() bool { return h.Head.Ended(id, incarnation, f) })
}

func (h *farHead) OwnerDied(o ids.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.owners = append(h.owners, o)
	h.Head.OwnerDied(o)
}

// died reports whether the head was told that the owner is gone.
func (h *farHead) died(o ids.Owner) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.owners, o)
}

// readers are requests of a process, one or more for each read of the head, that need the answer to this read.
// Each gets an actor that lives.
var readers = []struct {
	read  string
	what  string // the process wants, in the words of the error
	order func(d *play.Driver, id ids.Actor) error
}{
	{"Nodes", "list the nodes", func(d *play.Driver, _ ids.Actor) error { return d.Try(wire.TClusterInfo, nil, &wire.ClusterInfo{}) }},
	{"Nodes", "list actors, jobs and nodes", census},
	{"Jobs", "list actors, jobs and nodes", census},
	{"ActorsOf", "list actors, jobs and nodes", census},
	{"Sizes", "count what the head keeps", func(d *play.Driver, _ ids.Actor) error {
		var found map[string]uint64
		err := d.Try(wire.TFootprint, wire.FootprintAsk{}, &found)
		if _, there := found["n_head_actors"]; err == nil && !there {
			return fmt.Errorf("the head's tables are left out of %v", found)
		}
		return err
	}},
	{"GetNamed", "find an actor by its name", func(d *play.Driver, _ ids.Actor) error {
		return d.Try(wire.TActorByName, wire.ActorByName{Namespace: "n", Name: "it"}, &wire.ActorNamed{})
	}},
	{"ListNamed", "list the names of actors", func(d *play.Driver, _ ids.Actor) error {
		var names []wire.ActorName
		err := d.Try(wire.TActorNames, wire.ActorNames{All: true}, &names)
		if err == nil && len(names) == 0 {
			return fmt.Errorf("there are no names")
		}
		return err
	}},
	{"GetKV", "get a value", func(d *play.Driver, _ ids.Actor) error {
		var v []byte
		err := d.Try(wire.TKVGet, wire.KVKey{Namespace: "ns", Key: []byte("key")}, &v)
		if err == nil && string(v) != "v" {
			return fmt.Errorf("the value is %q", v)
		}
		return err
	}},
	{"KVKeys", "list keys", func(d *play.Driver, _ ids.Actor) error {
		var keys [][]byte
		err := d.Try(wire.TKVKeys, wire.KVKey{Namespace: "ns"}, &keys)
		if err == nil && len(keys) != 1 {
			return fmt.Errorf("the keys are %q", keys)
		}
		return err
	}},
	{"Code", "get the class of an actor", func(d *play.Driver, id ids.Actor) error {
		object := ids.NewObject(1, d.Owner(), ids.Job(d.Job.JobID), 0)
		err := d.Try(wire.TCodeGet, wire.CodeAt{ObjectID: object[:]}, &wire.CodeData{})
		if fault.CodeOf(err) == fault.ObjectLost {
			return nil // the answer of a head that does not have it
		}
		return err
	}},
	{"Code", "bring the class of an actor", func(d *play.Driver, id ids.Actor) error {
		object := ids.NewObject(1, d.Owner(), ids.Job(d.Job.JobID), 0)
		return d.Try(wire.TCodePart, wire.CodePart{ActorID: id[:], ObjectID: object[:]}, &wire.CodeHave{})
	}},
	{"Actor", "register an actor", func(d *play.Driver, _ ids.Actor) error {
		id, owner := ids.NewActor(ids.Job(d.Job.JobID)), d.Owner()
		var made wire.ActorCreated
		err := d.Try(wire.TActorCreate, wire.ActorCreate{ActorID: id[:], OwnerID: owner[:], ClassName: "A", EnvKey: "default", Namespace: "n", Name: "it", GetIfExists: true}, &made)
		if err == nil && made.Existing == nil {
			return fmt.Errorf("the actor that exists is not found")
		}
		return err
	}},
	{"Resolve", "find an actor", func(d *play.Driver, id ids.Actor) error {
		var s wire.ActorState
		err := d.Try(wire.TActorResolve, wire.ActorResolve{ActorID: id[:]}, &s)
		if err == nil && s.State != wire.ActorAlive {
			return fmt.Errorf("the actor is %s", s.State)
		}
		return err
	}},
	{"Ended", "learn of the end of an actor", func(d *play.Driver, id ids.Actor) error {
		var death wire.ActorDeath
		err := d.Try(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: 1}, &death)
		if err == nil && death.State != wire.ActorAlive {
			return fmt.Errorf("the actor is %+v", death)
		}
		return err
	}},
	{"Actor", "release an actor", func(d *play.Driver, id ids.Actor) error {
		return d.Try(wire.TActorRelease, wire.ActorRef{ActorID: id[:]}, nil)
	}},
	{"Actor", "kill an actor", func(d *play.Driver, id ids.Actor) error {
		var death wire.ActorDeath
		err := d.Try(wire.TActorKill, wire.ActorKill{ActorID: id[:], NoRestart: true}, &death)
		if err == nil && death.State != wire.ActorDead {
			return fmt.Errorf("the actor is %+v", death)
		}
		return err
	}},
}

func census(d *play.Driver, _ ids.Actor) error {
	var c wire.Census
	err := d.Try(wire.TCensus, wire.CensusAsk{}, &c)
	if err == nil && (len(c.Nodes) != 1 || len(c.Actors) == 0 || len(c.Jobs) == 0) {
		return fmt.Errorf("the census lacks rows: %+v", c)
	}
	return err
}

// prepared makes what the readers read, and returns the actor.
func prepared(t *testing.T, d *play.Driver) ids.Actor {
	t.Helper()
	id := d.Made("", func(q *wire.ActorCreate) { q.Namespace, q.Name, q.MaxRestarts = "n", "it", 1 })
	d.Resolve(id, 0)
	d.Call(wire.TKVPut, wire.KVPut{Namespace: "ns", Key: []byte("key"), Value: []byte("v")}, nil)
	return id
}

// A read that the head does not answer is an error for the process that needs the answer: it
// says so, and what to do. Nobody is told that there is nothing.
func TestFlow_Head_AReadFails_TheProcessIsToldSo(t *testing.T) {
	for _, r := range readers {
		t.Run(r.read+" to "+r.what, func(t *testing.T) {
			s, h := startFar(t)
			d := s.Driver(nil)
			id := prepared(t, d)
			for _, c := range []struct {
				err   error
				words string
			}{
				{fmt.Errorf("read: %w", context.DeadlineExceeded), ": the head of the cluster did not answer within"},
				{fault.New(fault.HeadUnavailable, "there is no path to the head at 192.0.2.1:6379"), ": there is no path to the head at 192.0.2.1:6379"},
			} {
				h.set(func(_ context.Context, read string) error {
					if read == r.read {
						return c.err
					}
					return nil
				})
				want := fault.HeadUnavailable
				if r.what == "kill an actor" { // which is dead when the head is asked how it died
					want = fault.MayHaveBeenApplied
				}
				err := r.order(d, id)
				if text := fmt.Sprint(err); fault.CodeOf(err) != want || !strings.Contains(text, c.words) || want == fault.HeadUnavailable && !strings.HasPrefix(text, r.what+c.words) {
					t.Errorf("the head fails with %v: the process is told %s %v", c.err, fault.CodeOf(err), err)
				}
			}
			h.set(nil)
			if err := r.order(d, id); err != nil {
				t.Errorf("the head answers again: %v", err)
			}
		})
	}
}

// While the head takes its time, only the requests of the process that asks for it wait: what this
// process asks of its node, and what others ask of the head, is answered. Then the answer comes.
func TestFlow_Head_AnswersLate_NobodyElseWaits(t *testing.T) {
	for _, r := range readers {
		t.Run(r.read+" to "+r.what, func(t *testing.T) {
			s, h := startFar(t)
			d, other := s.Driver(nil), s.Driver(nil)
			id := prepared(t, d)
			asked, release := make(chan struct{}), make(chan struct{})
			var first sync.Once
			h.set(func(ctx context.Context, read string) (err error) {
				if read == r.read {
					first.Do(func() {
						close(asked)
						select {
						case <-release:
						case <-ctx.Done():
							err = ctx.Err()
						}
					})
				}
				return err
			})
			answered := make(chan error, 1)
			go func() { answered <- r.order(d, id) }()
			select {
			case <-asked:
			case err := <-answered:
				t.Fatalf("it is answered without the head: %v", err)
			case <-time.After(play.Limit):
				t.Fatal("the head is not asked")
			}
			d.Call(wire.TObjStats, nil, &wire.ObjStats{})
			d.Class(1, play.OneCPU, "default")
			d.Want(1, 1)
			d.Lease().GiveBack()
			other.Call(wire.TKVPut, wire.KVPut{Namespace: "other", Key: []byte("k"), Value: []byte("w")}, nil)
			other.Made("", nil)
			select {
			case err := <-answered:
				if r.read == "Ended" && err == nil {
					return // the node itself has found in time that the actor lives on
				}
				t.Fatalf("it is answered before the head has answered: %v", err)
			default:
			}
			close(release)
			if err := <-answered; err != nil {
				t.Error(err)
			}
		})
	}
}

// A process says once that it has no handle of an actor any more. The actor ends, although the
// head did not answer at first.
func TestFlow_Head_SilentDuringARelease_TheActorEndsAllTheSame(t *testing.T) {
	s, h := startFar(t)
	d := s.Driver(nil)
	id := prepared(t, d)
	asked := make(chan struct{}, 100)
	h.set(func(_ context.Context, read string) error {
		if read == "Actor" {
			asked <- struct{}{}
			return context.DeadlineExceeded
		}
		return nil
	})
	d.Push(wire.TActorRelease, wire.ActorRef{ActorID: id[:]})
	for range 2 {
		select {
		case <-asked:
		case <-time.After(play.Limit):
			t.Fatal("the head is not asked again")
		}
	}
	h.set(nil)
	var death wire.ActorDeath
	d.Call(wire.TActorLost, wire.ActorLost{ActorID: id[:], Incarnation: wire.ActorNever}, &death)
	if death.State != wire.ActorDead || !strings.Contains(death.Message, "all references to it were removed") {
		t.Errorf("got %+v", death)
	}
}

// The head hears of the end of processes that have created actors, and of no others: with many
// actors and many short workers that would be a look at all actors for each of them.
func TestFlow_Head_HearsOfOwnersOfActorsOnly(t *testing.T) {
	s, h := startFar(t)
	maker, plain := s.Driver(nil), s.Driver(nil)
	id := maker.Made("", nil)
	maker.Resolve(id, 0)
	plain.Class(1, play.OneCPU, "default")
	plain.Want(1, 1)
	plain.Lease()
	plain.Peer.Close()
	maker.Peer.Close()
	tool := s.Tool()
	await.Within(t, play.Limit, "both jobs end", func() bool {
		var c wire.Census
		tool.Call(wire.TCensus, wire.CensusAsk{}, &c)
		return len(c.Jobs) == 2 && c.Jobs[0].EndedMs > 0 && c.Jobs[1].EndedMs > 0 && len(c.Actors) == 1 && c.Actors[0].State == "DEAD"
	})
	if !h.died(maker.Owner()) || h.died(plain.Owner()) {
		t.Errorf("of the maker of an actor the head hears: %v, of another process: %v", h.died(maker.Owner()), h.died(plain.Owner()))
	}
}
