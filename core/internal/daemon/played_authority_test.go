package daemon_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// wrong is a worker that has gone wrong, beside what must not suffer from it: a
// driver of another job with an object, a lease and an actor.
type wrong struct {
	*play.Held
	other  *play.Driver
	sealed ids.Object
	lease  *play.Held
	actor  ids.Actor
}

func startWrong(t *testing.T) *wrong {
	s := play.Start(t, 4)
	x := &wrong{other: s.Driver(nil)}
	x.sealed = x.other.Object()
	at, err := x.other.Create(x.sealed, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	copy(x.other.Arena[at.Offset:], "intact")
	x.other.Seal(x.sealed)
	x.other.Class(1, play.OneCPU, "default")
	x.other.Want(1, 1)
	x.lease = x.other.Lease()
	if x.actor, _, err = x.other.Actor("", nil); err != nil {
		t.Fatal(err)
	}
	x.other.Resolve(x.actor, 0)
	d := s.Driver(nil)
	d.Class(1, play.OneCPU, "default")
	d.Want(1, 1)
	x.Held = d.Lease()
	return x
}

// intact checks what the other driver has.
func (x *wrong) intact(t *testing.T) {
	t.Helper()
	p, err := x.other.Pin(x.sealed)
	if err != nil || p.Size != 200_000 {
		t.Fatalf("the object of another job: %+v, %v", p, err)
	}
	if b := x.other.Arena[p.Offset:][:6]; string(b) != "intact" {
		t.Errorf("it holds %q", b)
	}
	x.other.Unpin(x.sealed)
	if got := x.lease.Tell("pid"); got != fmt.Sprint(x.lease.Pid) {
		t.Errorf("the worker that another job has leased answers %q", got)
	}
	if st := x.other.Resolve(x.actor, 0); st.State != wire.ActorAlive {
		t.Errorf("the actor of another job is %s: %s", st.State, st.Message)
	}
	if n := x.other.Stats().Objects; n != 1 {
		t.Errorf("%d objects in the store, want 1", n)
	}
}

func TestAuthority_WorkerAsksForWhatIsOthers_IsRefused(t *testing.T) {
	x := startWrong(t)
	theirs, result := x.other.Object(), ids.NewObject(50, x.other.Owner(), ids.Job(x.other.Job.JobID), 1)
	refused := func(what, answer string, code fault.Code, words string) {
		t.Helper()
		if !strings.HasPrefix(answer, string(code)+":") || !strings.Contains(answer, words) {
			t.Errorf("%s: %q, want %s with %q", what, answer, code, words)
		}
		x.intact(t)
	}
	refused("a put of others", x.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: theirs[:], Size: 10}), fault.BadRequest, "may not write")
	refused("a result of others", x.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: result[:], Size: 10}), fault.BadRequest, "may not write")
	refused("to stop", x.Says("call", wire.TShutdown, nil), fault.BadRequest, "cannot end the daemon")
	refused("a release", x.Says("call", wire.TActorRelease, wire.ActorRef{ActorID: x.actor[:]}), fault.BadRequest, "may not release")
	owner := x.other.Owner()
	id := ids.NewActor(ids.Job(x.other.Job.JobID))
	refused("an actor of others", x.Says("call", wire.TActorCreate, wire.ActorCreate{ActorID: id[:], OwnerID: owner[:], ClassName: "A"}), fault.BadRequest, "by its owner only")
	mine := ids.Worker(x.WorkerID).Owner()
	refused("an actor of another job", x.Says("call", wire.TActorCreate, wire.ActorCreate{ActorID: id[:], OwnerID: mine[:], ClassName: "A"}), fault.BadRequest, "another job")
	refused("another job's end", x.Says("call", wire.TJobEnd, nil), fault.BadRequest, "not a job's driver")
	refused("a job", x.Says("call", wire.TJobStart, wire.JobStart{}), fault.BadRequest, "cannot start a job")
	refused("to take over", x.Says("call", wire.TTakeOver, nil), fault.BadRequest, "no pending takeover")
	for _, m := range []struct {
		t    wire.Type
		body any
	}{ // these have no answer
		{wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{x.sealed[:], theirs[:], nil, []byte("short")}}},
		{wire.TObjSeal, wire.ObjRef{ObjectID: x.sealed[:]}},
		{wire.TObjUnpin, wire.ObjRef{ObjectID: x.sealed[:]}},
		{wire.TLeaseReturn, wire.LeaseReturn{LeaseID: x.lease.LeaseID, Unusable: true}},
		{wire.TLeaseReturn, wire.LeaseReturn{LeaseID: x.lease.LeaseID, Exiting: true}},
		{wire.TActorReady, wire.ActorReady{ActorID: x.actor[:], Incarnation: 1, Message: "ValueError: no"}},
		{wire.TActorRelease, wire.ActorRef{ActorID: x.actor[:]}},
		{wire.TLeaseWant, wire.LeaseWant{ClassID: 1, Want: math.MaxInt64}},
	} {
		x.Says("push", m.t, m.body)
		x.intact(t)
	}
}

func TestAuthority_AbsurdNumbers_AreErrorsOrNothing(t *testing.T) {
	x := startWrong(t)
	mine := func(n uint64) ids.Object {
		return ids.NewObject(n, ids.Worker(x.WorkerID).Owner(), ids.Job(x.D.Job.JobID), 0)
	}
	for i, size := range []uint64{math.MaxUint64, math.MaxUint64 - 4095, 1 << 63, 1 << 40} {
		id := mine(uint64(i) + 1)
		if got := x.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size}); !strings.HasPrefix(got, string(fault.StoreFull)) && !strings.HasPrefix(got, "out_of_disk") {
			t.Errorf("an object of %d bytes: %q", size, got)
		}
	}
	none := mine(99)
	x.Says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: none[:], Size: 0})
	x.Says("push", wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{none[:]}})
	for i, need := range []map[string]int64{{"CPU": math.MaxInt64}, {"memory": math.MaxInt64, "CPU": 1}, {"GPU": math.MaxInt64}, {"gpu_memory": math.MaxInt64}, {"": 1}, {"x": math.MaxInt64}, nil} {
		class := uint32(100 + i)
		x.Says("push", wire.TClassDefine, wire.ClassDefine{ClassID: class, Resources: need, EnvKey: "nowhere", Name: "f"})
		x.Says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: class, Want: math.MaxInt64})
		x.Says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: class, Want: math.MinInt64})
	}
	x.Says("push", wire.TClassDefine, wire.ClassDefine{ClassID: 200, Resources: map[string]int64{"CPU": 1}, EnvKey: "default", AfterMs: math.MaxInt64, Fallback: []wire.Alternative{{}}})
	x.Says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: 200, Want: math.MaxInt64})
	x.Says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: 200, Want: 0})
	for range 5 {
		x.Says("push", wire.TUnblocked, nil)
		x.Says("push", wire.TBlocked, nil)
		x.Says("push", wire.TBlocked, nil)
	}
	x.intact(t)
	for name, free := range x.other.Info().Available {
		if free < 0 || free > x.other.Info().Totals.Resources[name] {
			t.Errorf("%d of %s are free", free, name)
		}
	}
}

// A worker writes over the whole arena, and over whatever else it can. The
// content of objects may be damaged, and the daemon's tables are not.
func TestAuthority_WorkerWritesOverTheArena_TablesStay(t *testing.T) {
	x := startWrong(t)
	if got := x.Tell("scribble"); got != "ok" {
		t.Fatal(got)
	}
	if p, err := x.other.Pin(x.sealed); err != nil || p.Size != 200_000 {
		t.Errorf("%+v, %v", p, err)
	}
	x.other.Unpin(x.sealed)
	x.other.Free(x.sealed)
	var list []ids.Object
	for range 50 {
		id := x.other.Object()
		at, err := x.other.Create(id, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		copy(x.other.Arena[at.Offset:], id.String())
		x.other.Seal(id)
		list = append(list, id)
	}
	for _, id := range list {
		p, err := x.other.Pin(id)
		if err != nil {
			t.Fatal(err)
		}
		if b := x.other.Arena[p.Offset:][:len(id.String())]; string(b) != id.String() {
			t.Fatalf("object %s holds %q", id, b)
		}
		x.other.Unpin(id)
		x.other.Free(id)
	}
	play.Eventually(t, "the store is empty", func() bool { s := x.other.Stats(); return s.Objects == 0 && s.Used == 0 })
}

func TestAuthority_WorkerTalksNonsense_OthersDoNotNotice(t *testing.T) {
	x := startWrong(t)
	if got := x.Tell("chatter 5"); got != "ok" {
		t.Fatal(got)
	}
	x.intact(t)
}
