package system

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/wire"
)

// says has the worker say something to the daemon, through its own connection.
// The line is "call TYPE BODY" or "push TYPE BODY".
func (w *fakeWorker) says(verb, rest string) string {
	var t wire.Type
	var text string
	if _, err := fmt.Sscan(rest, &t, &text); err != nil {
		return "bad line: " + err.Error()
	}
	body, err := hex.DecodeString(text)
	if err != nil {
		return err.Error()
	}
	if verb == "push" {
		err = w.peer.Push(t, msgpack.RawMessage(body))
	} else {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		err = w.peer.Call(ctx, t, msgpack.RawMessage(body), nil)
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return string(f.Code) + ": " + strings.ReplaceAll(f.Message, "\n", " ")
	}
	return fmt.Sprint(err)
}

func (h *held) says(verb string, t wire.Type, body any) string {
	h.d.t.Helper()
	b, err := msgpack.Marshal(body)
	if err != nil {
		h.d.t.Fatal(err)
	}
	return h.tell(fmt.Sprintf("%s %d %x", verb, t, b))
}

// wrong is a worker that has gone wrong, beside what must not suffer from it: a
// driver of another job with an object, a lease and an actor.
type wrong struct {
	*held
	other  *driver
	sealed ids.Object
	lease  *held
	actor  ids.Actor
}

func startWrong(t *testing.T) *wrong {
	s := startSession(t, map[string]any{"num_cpus": 4})
	x := &wrong{other: s.start(nil)}
	x.sealed = x.other.object()
	at, err := x.other.create(x.sealed, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Pwrite(x.other.arena, []byte("intact"), int64(at.Offset)); err != nil {
		t.Fatal(err)
	}
	x.other.seal(x.sealed)
	x.other.class(1, map[string]float64{"CPU": 1}, "default")
	x.other.want(1, 1)
	x.lease = x.other.lease()
	if x.actor, _, err = x.other.actor("", nil); err != nil {
		t.Fatal(err)
	}
	x.other.resolve(x.actor, 0)
	d := s.start(nil)
	d.class(1, map[string]float64{"CPU": 1}, "default")
	d.want(1, 1)
	x.held = d.lease()
	return x
}

// intact checks what the other driver has.
func (x *wrong) intact(t *testing.T) {
	t.Helper()
	p, err := x.other.pin(x.sealed)
	if err != nil || p.Size != 200_000 {
		t.Fatalf("the object of another job: %+v, %v", p, err)
	}
	b := make([]byte, 6)
	if _, err := unix.Pread(x.other.arena, b, int64(p.Offset)); err != nil || string(b) != "intact" {
		t.Errorf("it holds %q, %v", b, err)
	}
	x.other.unpin(x.sealed)
	if got := x.lease.tell("pid"); got != fmt.Sprint(x.lease.Pid) {
		t.Errorf("the worker that another job has leased answers %q", got)
	}
	if st := x.other.resolve(x.actor, 0); st.State != wire.ActorAlive {
		t.Errorf("the actor of another job is %s: %s", st.State, st.Message)
	}
	if n := x.other.stats().Objects; n != 1 {
		t.Errorf("%d objects in the store, want 1", n)
	}
}

func TestAuthority_WorkerAsksForWhatIsOthers_IsRefused(t *testing.T) {
	x := startWrong(t)
	theirs, result := x.other.object(), ids.NewObject(50, x.other.owner(), ids.Job(x.other.job.JobID), 1)
	refused := func(what, answer string, code fault.Code, words string) {
		t.Helper()
		if !strings.HasPrefix(answer, string(code)+":") || !strings.Contains(answer, words) {
			t.Errorf("%s: %q, want %s with %q", what, answer, code, words)
		}
		x.intact(t)
	}
	refused("a put of others", x.says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: theirs[:], Size: 10}), fault.BadRequest, "may not write")
	refused("a result of others", x.says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: result[:], Size: 10}), fault.BadRequest, "may not write")
	refused("to stop", x.says("call", wire.TShutdown, nil), fault.BadRequest, "cannot end the daemon")
	refused("a release", x.says("call", wire.TActorRelease, wire.ActorRef{ActorID: x.actor[:]}), fault.BadRequest, "may not release")
	owner := x.other.owner()
	id := ids.NewActor(ids.Job(x.other.job.JobID))
	refused("an actor of others", x.says("call", wire.TActorCreate, wire.ActorCreate{ActorID: id[:], OwnerID: owner[:], ClassName: "A"}), fault.BadRequest, "by its owner only")
	mine := ids.Worker(x.WorkerID).Owner()
	refused("an actor of another job", x.says("call", wire.TActorCreate, wire.ActorCreate{ActorID: id[:], OwnerID: mine[:], ClassName: "A"}), fault.BadRequest, "another job")
	refused("another job's end", x.says("call", wire.TJobEnd, nil), fault.BadRequest, "not a job's driver")
	refused("a job", x.says("call", wire.TJobStart, wire.JobStart{}), fault.BadRequest, "cannot start a job")
	refused("to inherit", x.says("call", wire.TInherit, nil), fault.BadRequest, "nobody's heir")
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
		x.says("push", m.t, m.body)
		x.intact(t)
	}
}

func TestAuthority_AbsurdNumbers_AreErrorsOrNothing(t *testing.T) {
	x := startWrong(t)
	mine := func(n uint64) ids.Object {
		return ids.NewObject(n, ids.Worker(x.WorkerID).Owner(), ids.Job(x.d.job.JobID), 0)
	}
	for i, size := range []uint64{math.MaxUint64, math.MaxUint64 - 4095, 1 << 63, 1 << 40} {
		id := mine(uint64(i) + 1)
		if got := x.says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: id[:], Size: size}); !strings.HasPrefix(got, string(fault.StoreFull)) && !strings.HasPrefix(got, "out_of_disk") {
			t.Errorf("an object of %d bytes: %q", size, got)
		}
	}
	none := mine(99)
	x.says("call", wire.TObjCreate, wire.ObjCreate{ObjectID: none[:], Size: 0})
	x.says("push", wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{none[:]}})
	for i, need := range []map[string]int64{{"CPU": math.MaxInt64}, {"memory": math.MaxInt64, "CPU": 1}, {"GPU": math.MaxInt64}, {"gpu_memory": math.MaxInt64}, {"": 1}, {"x": math.MaxInt64}, nil} {
		class := uint32(100 + i)
		x.says("push", wire.TClassDefine, wire.ClassDefine{ClassID: class, Resources: need, EnvKey: "nowhere", Name: "f"})
		x.says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: class, Want: math.MaxInt64})
		x.says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: class, Want: math.MinInt64})
	}
	x.says("push", wire.TClassDefine, wire.ClassDefine{ClassID: 200, Resources: map[string]int64{"CPU": 1}, EnvKey: "default", AfterMs: math.MaxInt64, Fallback: []wire.Alternative{{}}})
	x.says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: 200, Want: math.MaxInt64})
	x.says("push", wire.TLeaseWant, wire.LeaseWant{ClassID: 200, Want: 0})
	for range 5 {
		x.says("push", wire.TUnblocked, nil)
		x.says("push", wire.TBlocked, nil)
		x.says("push", wire.TBlocked, nil)
	}
	x.intact(t)
	for name, free := range x.other.info().Available {
		if free < 0 || free > x.other.info().Totals.Resources[name] {
			t.Errorf("%d of %s are free", free, name)
		}
	}
}

// A worker writes all over the arena, and over whatever else it can: the
// content of objects may suffer, the daemon's books do not.
func TestAuthority_WorkerScribbles_BooksStay(t *testing.T) {
	x := startWrong(t)
	if got := x.tell("scribble"); got != "ok" {
		t.Fatal(got)
	}
	if p, err := x.other.pin(x.sealed); err != nil || p.Size != 200_000 {
		t.Errorf("%+v, %v", p, err)
	}
	x.other.unpin(x.sealed)
	x.other.free(x.sealed)
	var list []ids.Object
	for range 50 {
		id := x.other.object()
		at, err := x.other.create(id, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		want := []byte(id.String())
		if _, err := unix.Pwrite(x.other.arena, want, int64(at.Offset)); err != nil {
			t.Fatal(err)
		}
		x.other.seal(id)
		list = append(list, id)
	}
	for _, id := range list {
		p, err := x.other.pin(id)
		b := make([]byte, len(id.String()))
		if err == nil {
			_, err = unix.Pread(x.other.arena, b, int64(p.Offset))
		}
		if err != nil || string(b) != id.String() {
			t.Fatalf("object %s: %q, %v", id, b, err)
		}
		x.other.unpin(id)
		x.other.free(id)
	}
	eventually(t, "the store is empty", func() bool { s := x.other.stats(); return s.Objects == 0 && s.Used == 0 })
}

// scribble writes noise through every descriptor that takes it, the socket to
// the daemon excepted, and tries to change the arena's size.
func (w *fakeWorker) scribble() string {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<16)
	for fd := 3; fd <= w.arena; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		for at := int64(0); at < st.Size; at += int64(len(noise)) {
			for i := 0; i < len(noise); i += 8 {
				n := rng.Uint64()
				for j := range 8 {
					noise[i+j] = byte(n >> (8 * j))
				}
			}
			_, _ = unix.Pwrite(fd, noise, at)
		}
		if unix.Ftruncate(fd, 0) == nil || unix.Ftruncate(fd, st.Size*2) == nil {
			return "the arena's size could be changed"
		}
		if b, err := unix.Mmap(fd, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			copy(b, noise)
			_ = unix.Munmap(b)
		}
		w.scribbled++
	}
	if w.scribbled == 0 {
		return "there was nothing to write to"
	}
	return "ok"
}

// chatter sends random bodies of every message type for a while.
func (w *fakeWorker) chatter(seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		t := wire.Type(10 + rng.IntN(70))
		if t == wire.TWorkerExit || t == wire.TActorKill {
			continue // it may end itself, and kill actors
		}
		_ = w.peer.Push(t, randomBody(rng, 0))
	}
	return "ok"
}

func randomBody(rng *rand.Rand, depth int) any {
	switch rng.IntN(8) {
	case 0:
		return nil
	case 1:
		return rng.Uint64() >> rng.IntN(64)
	case 2:
		return -rng.Int64N(math.MaxInt64)
	case 3:
		b := make([]byte, []int{0, 4, 12, 16, 28, 28, 100}[rng.IntN(7)])
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	case 4:
		return []string{"", "default", "CPU", "x", strings.Repeat("y", 300)}[rng.IntN(5)]
	case 5:
		return map[string]any{"CPU": rng.Int64(), "y": -rng.Int64()}
	}
	if depth > 3 {
		return true
	}
	list := make([]any, rng.IntN(10))
	for i := range list {
		list[i] = randomBody(rng, depth+1)
	}
	return list
}

func TestAuthority_WorkerTalksNonsense_OthersDoNotNotice(t *testing.T) {
	x := startWrong(t)
	if got := x.tell("chatter 5"); got != "ok" {
		t.Fatal(got)
	}
	x.intact(t)
}
