package workers

import (
	"net"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// exits has a worker's process answer TExit with one answer after the other, the last
// one again and again. asked gets a value for each.
func exits(t *testing.T, d *Table, w *Worker, answers ...wire.ExitAnswer) (asked chan int) {
	t.Helper()
	ours, its := net.Pipe()
	asked = make(chan int, 16)
	n := 0
	worker := wire.NewPeer(its, func(m *wire.Message) {
		if m.Type == wire.TExit {
			n++
			asked <- n // before the answer: the worker may be killed as soon as the daemon has it
			_ = m.Reply(answers[min(n, len(answers))-1])
			return
		}
		_ = m.Reply(nil)
	}, func(error) {})
	worker.Start()
	peer := wire.NewPeer(ours, func(*wire.Message) {}, func(error) {})
	peer.Start()
	t.Cleanup(func() {
		peer.Close()
		worker.Close()
	})
	w.peer = peer
	return asked
}

// A call that runs at its job's end is killed soon: the grace of an hour is for others.
func TestWorker_RunsAtItsJobsEnd_IsKilledSoon(t *testing.T) {
	tb, j := openTable(t)
	w, _, _ := ordered(tb, j)
	tb.mu.Lock()
	ended := sleeps(t, tb, w)
	asked := exits(t, tb, w, wire.ExitAnswer{Runs: true})
	tb.EndWithJob(w, time.Hour)
	tb.mu.Unlock()
	ended()
	if n := len(asked); n != 2 {
		t.Errorf("it was asked %d times, want twice: a call that is about to return may do so", n)
	}
}

// A worker whose call returns meanwhile runs its exit handlers, and keeps its grace.
func TestWorker_EndsAtItsJobsEnd_KeepsItsGrace(t *testing.T) {
	for name, answers := range map[string][]wire.ExitAnswer{
		"idle":             {{}},
		"its call returns": {{Runs: true}, {}},
	} {
		t.Run(name, func(t *testing.T) {
			tb, j := openTable(t)
			w, _, _ := ordered(tb, j)
			tb.mu.Lock()
			ended := sleeps(t, tb, w)
			asked := exits(t, tb, w, answers...)
			tb.EndWithJob(w, time.Hour)
			peer := w.peer
			tb.mu.Unlock()
			for range answers {
				select {
				case <-asked:
				case <-time.After(60 * time.Second):
					t.Fatal("it was not asked")
				}
			}
			if err := peer.Call(t.Context(), wire.TRunning, nil, nil); err != nil { // by then the answers have been seen
				t.Fatal(err)
			}
			tb.mu.Lock()
			if w.dismissed {
				t.Error("it was killed")
			}
			tb.Kill(w)
			tb.mu.Unlock()
			ended()
		})
	}
}
