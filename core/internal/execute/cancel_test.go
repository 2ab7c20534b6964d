package execute

import (
	"encoding/binary"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A task asks whether it was cancelled by its own id. The program is told of
// each cancellation once, in their order.
func TestCancel_RunningCalls_OnlyTheTaskThatWas(t *testing.T) {
	w, s := newWorker()
	s.mu.Lock()
	defer func() { // what is to be repeated later is not
		s.ended = true
		s.mu.Unlock()
	}()
	if _, ok := w.TakeCancelled(); ok || w.Cancelled(ids.Task{1}) {
		t.Error("a worker without calls has a cancelled one")
	}
	c, _ := s.joins(w, "c", wire.RoleActor)
	says(t, c, templateOf(1, nil), taskOf(1, 1), taskOf(2, 1), taskOf(3, 1))
	for range 2 {
		begins(t, w)
	}
	stop := begins(t, w).Stopped()
	s.takes()
	for _, seq := range []uint32{3, 2, 3} {
		id := taskID(c, seq)
		w.Cancel(&wire.Cancel{TaskID: id[:]})
	}
	for seq, want := range []bool{false, false, true, true, false} {
		if got := w.Cancelled(taskID(c, uint32(seq))); got != want {
			t.Errorf("task %d is cancelled: %v", seq, got)
		}
	}
	select {
	case <-stop:
	default:
		t.Error("who waits for room for the answer goes on waiting")
	}
	if n := len(s.takes()); n != 3 || len(w.early) != 0 {
		t.Errorf("the program is interrupted %d times, %d cancellations are kept", n, len(w.early))
	}
	for _, want := range []uint32{3, 2, 3} {
		if id, ok := w.TakeCancelled(); !ok || id != taskID(c, want) {
			t.Errorf("told of %v, %v, want call %d", id, ok, want)
		}
	}
	if id, ok := w.TakeCancelled(); ok {
		t.Errorf("told of %v as well", id)
	}
}

// Cancellations of calls that never come are forgotten, when there are many and they are old.
func TestCancel_CallsThatNeverCome_AreForgotten(t *testing.T) {
	w, _ := newWorker()
	task := func(n uint64) (id ids.Task) {
		binary.BigEndian.PutUint64(id[:], n)
		return id
	}
	long := time.Now().Add(-earlyFor - time.Second)
	for n := range uint64(maxEarly) {
		w.early[task(n)] = long
	}
	next := task(maxEarly)
	w.Cancel(&wire.Cancel{TaskID: next[:]})
	if len(w.early) != maxEarly+1 {
		t.Fatalf("%d are kept, want %d", len(w.early), maxEarly+1)
	}
	w.early[task(7)] = time.Now()
	last := task(maxEarly + 1)
	w.Cancel(&wire.Cancel{TaskID: last[:]})
	for _, id := range []ids.Task{next, task(7), last} {
		if w.early[id].IsZero() {
			t.Error("a new one is forgotten")
		}
	}
	if len(w.early) != 3 {
		t.Errorf("%d are kept, want 3", len(w.early))
	}
}

// A call that waits is found by its task once, unless it has begun, its caller
// has gone, or it is no call of a program.
func TestQueueIndex_Find_WaitingCallsOnce(t *testing.T) {
	w, s := newWorker()
	in, _ := s.joins(w, "in", wire.RoleActor)
	gone, p := s.joins(w, "gone", wire.RoleActor)
	p.closed = true
	tmpl := &Template{}
	l := &Lane{}
	push := func(k *Call) { l.queue, l.pushed = append(l.queue, k), l.pushed+1 }
	waits := &Call{Task: ids.Task{1}, Caller: in, Tmpl: tmpl}
	push(waits)
	push(&Call{Task: ids.Task{2}, Caller: in, Tmpl: tmpl, taken: true})
	push(&Call{Task: ids.Task{3}, Caller: gone, Tmpl: tmpl})
	push(&Call{Task: ids.Task{4}, Caller: in})
	push(&Call{Task: ids.Task{5}, Caller: in, Tmpl: tmpl, Actor: new(wire.ActorStart)})
	for n := range byte(7) {
		if got := l.index.find(l, ids.Task{n}); got != nil != (n == 1) || n == 1 && got != waits {
			t.Errorf("task %d: %+v", n, got)
		}
	}
	if l.index.find(l, ids.Task{1}) != nil {
		t.Error("it is found a second time")
	}
	l.queue = nil // all have begun
	late := &Call{Task: ids.Task{6}, Caller: in, Tmpl: tmpl}
	push(late)
	if l.index.find(l, ids.Task{6}) != late {
		t.Error("a call that came later is not found")
	}
}

// A program that does not ask what was cancelled is interrupted again, less and less
// often, but each second at least. When it has asked, or the session has ended, it is left alone.
func TestResignal_ProgramDoesNotAsk_IsInterruptedAgainUntilItDoes(t *testing.T) {
	ends := map[string]func(w *Worker, s *fakeSession){
		"the program asks":       func(w *Worker, _ *fakeSession) { w.TakeCancelled() },
		"the session has ended":  func(_ *Worker, s *fakeSession) { s.ended = true },
		"it asks for the second": func(w *Worker, _ *fakeSession) { w.TakeCancelled(); w.TakeCancelled() },
	}
	for what, end := range ends {
		synctest.Test(t, func(t *testing.T) {
			w, s := newWorker()
			w.canceled = []*Call{{}}
			if what == "it asks for the second" {
				w.canceled = append(w.canceled, &Call{})
			}
			began := time.Now()
			var at []time.Duration
			seen := func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				for range s.takes() {
					at = append(at, time.Since(began))
				}
			}
			s.mu.Lock()
			w.resignal(resignalFirst)
			s.mu.Unlock()
			for range 350 {
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				seen()
			}
			want := []time.Duration{10, 30, 70, 150, 310, 630, 1270, 2270, 3270}
			for i := range want {
				want[i] *= time.Millisecond
			}
			if !slices.Equal(at, want) {
				t.Errorf("%s: the program was interrupted after %v, want %v", what, at, want)
			}
			s.mu.Lock()
			end(w, s)
			s.mu.Unlock()
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := len(s.takes()); n != 0 {
				t.Errorf("%s: afterwards the program is interrupted %d times more", what, n)
			}
		})
	}
}
