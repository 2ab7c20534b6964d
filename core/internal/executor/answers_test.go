package executor

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// An answer that does not fit one message by one byte is refused.
func TestCheckAnswer_AtTheLimit_FitsAndOneByteMoreDoesNot(t *testing.T) {
	k := &execute.Call{Tmpl: &execute.Template{}}
	if err := checkAnswer(k, make([]byte, maxAnswer)); err != nil {
		t.Errorf("an answer that just fits: %v", err)
	}
	if err := checkAnswer(k, make([]byte, maxAnswer+1)); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("an answer that does not fit by one byte: %v", err)
	}
}

// A call whose first result cannot be stored has nothing to free.
func TestFreeReturns_NoneStored_NothingIsTold(t *testing.T) {
	s := newSession(t)
	k := &execute.Call{Caller: &execute.Caller{Owner: s.own, Job: ids.JobOf(1)}}
	s.mutex.Lock()
	s.freeReturns(k, 0, 0)
	s.mutex.Unlock()
	if n := s.told(wire.TObjFree); n != 0 {
		t.Errorf("the daemon was told %d times of nothing", n)
	}
	s.mutex.Lock()
	s.freeReturns(k, 1, 0)
	s.mutex.Unlock()
	if n := s.told(wire.TObjFree); n != 1 {
		t.Errorf("the daemon was told %d times of one result, want once", n)
	}
}

// A class of many parts is put together, and kept only until the program has loaded it.
func TestFetchClass_InParts_TheClassIsWhole(t *testing.T) {
	s := newSession(t)
	class := bytes.Repeat([]byte("class "), 600)
	v := Value{Fmt: uint8(store.FormatBytes), Bufs: [][]byte{class}}
	total := v.Size()
	whole := v.Envelope(total)
	var gets []uint64
	s.on(wire.TCodeGet, func(m *wire.Message) {
		var q wire.CodeAt
		if err := m.Decode(&q); err != nil {
			t.Error(err)
		}
		gets = append(gets, q.Offset)
		end := min(q.Offset+1500, uint64(len(whole)))
		_ = m.Reply(wire.CodeData{Data: whole[q.Offset:end], Size: uint64(len(whole))})
	})
	fid := [16]byte{1}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls(wire.RoleLease, fid)
	fetch := func(fid [16]byte, code string) error {
		return s.fetchClass(&execute.Call{Tmpl: &execute.Template{FID: fid}, Actor: &wire.ActorStart{ClassName: "A", Code: []byte(code)}})
	}
	if err := fetch(fid, ""); err != nil || len(gets) > 0 {
		t.Errorf("of a small class: %v, asked for %v", err, gets)
	}
	if err := fetch([16]byte{2}, "id"); err != nil {
		t.Errorf("of a class that nobody waits for: %v", err)
	}
	gets = nil
	if err := fetch(fid, "id"); err != nil {
		t.Fatal(err)
	}
	if blob := s.exec.Load(fid); !bytes.Equal(blob, class) {
		t.Errorf("%d of %d bytes", len(blob), len(class))
	}
	if s.exec.Unload(fid); s.exec.Load(fid) != nil {
		t.Error("a fetched class stays when the program has loaded it")
	}
	if want := []uint64{0, 1500, 3000}; !slices.Equal(gets, want) {
		t.Errorf("asked for %v, want %v", gets, want)
	}
	s.on(wire.TCodeGet, func(m *wire.Message) { _ = m.Fail(fault.New(fault.NotFound, "no such class")) })
	if err := fetch(fid, "id"); fault.CodeOf(err) != fault.NotFound || !strings.Contains(err.Error(), "actor A cannot start") {
		t.Errorf("a class that the cluster does not have: %v", err)
	}
}

// A call is taken once and answered once, whatever it is answered with.
func TestNextTask_ACallIsTakenAndAnswered_OnceEach(t *testing.T) {
	s := newSession(t)
	s.mutex.Lock()
	_, p := s.calls(wire.RoleLease, [16]byte{1}, 1)
	s.mutex.Unlock()
	it, err := s.NextTask(-1, "")
	if err != nil || it == nil || it.Kind != ItemTask || it.Returns != 1 {
		t.Fatalf("the program gets %+v, %v", it, err)
	}
	if n := s.exec.Running(); n != 1 {
		t.Errorf("%d calls run, want the one that was taken", n)
	}
	if none, err := s.NextTask(0, ""); none != nil || err != nil {
		t.Errorf("a second time: %+v, %v", none, err)
	}
	if _, err := s.NextTask(0, "io"); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a group that was not declared: %v", err)
	}
	v := Value{Fmt: uint8(store.FormatMsgpack), Meta: wire.AppendStr(nil, "the result")}
	if err := s.Reply(it.Token, []Value{v}, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(p.b, []byte("the result")) {
		t.Errorf("the caller reads %q", p.b)
	}
	if err := s.Reply(it.Token, []Value{v}, 0); fault.CodeOf(err) != fault.BadRequest {
		t.Errorf("a second answer: %v", err)
	}
}

// A worker that others need does not become an actor: it says that it ends, and another worker is taken.
func TestBecomeActor_OthersNeedTheWorker_ItDeclines(t *testing.T) {
	s := newSession(t)
	s.needed = true
	if err := s.BecomeActor(&wire.ActorStart{ActorID: make([]byte, ids.ActorSize)}); err != nil {
		t.Fatal(err)
	}
	if it, err := s.NextTask(0, ""); err != nil || it == nil || it.Kind != ItemExit || it.Reason != wire.ExitDeclines {
		t.Errorf("the program gets %+v, %v", it, err)
	}
}

// A call that is cancelled with force ends the process while the call runs, and not when the call was answered meanwhile.
func TestEndByForce_CallIsAnsweredMeanwhile_TheProcessGoesOn(t *testing.T) {
	for _, answered := range []bool{false, true} {
		s := newSession(t)
		s.mutex.Lock()
		s.calls(wire.RoleLease, [16]byte{1}, 1)
		s.mutex.Unlock()
		it, err := s.NextTask(-1, "")
		if err != nil {
			t.Fatal(err)
		}
		s.mutex.Lock()
		k := s.exec.Call(it.Token)
		s.mutex.Unlock()
		if answered {
			if err := s.Reply(it.Token, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		s.EndByForce(k, nil)
		if want := map[bool]int{false: 1, true: 0}[answered]; s.ended != want || s.told(wire.TWorkerExit) != want {
			t.Errorf("answered %v: the process was ended %d times and said so %d times, want %d", answered, s.ended, s.told(wire.TWorkerExit), want)
		}
	}
}

// A process that is no worker has no functions to let go of and no task that is cancelled.
func TestExecutor_NoWorker_HasNothing(t *testing.T) {
	var mu sync.Mutex
	var x Executor
	x.InitExecutor(&mu)
	x.Unload([16]byte{1})
	if _, any := x.CurrentCancelled(); any || x.Cancelled(ids.Task{1}) {
		t.Error("a task is cancelled")
	}
}
