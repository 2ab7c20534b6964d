package workers

import (
	"testing"
	"time"
)

// A driver leaves while its worker is being forked: the order is lost with the
// zygote, and nobody forks that worker again.
func TestWorker_DismissedBeforeItsFork_IsNotForkedAgain(t *testing.T) {
	tb, j := openTable(t)
	w, z, _ := ordered(tb, j)
	tb.mu.Lock()
	tb.EndWithJob(w, time.Second)
	tb.mu.Unlock()
	tb.zygoteGone(z, "it was closed")
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if w.state != Gone || w.forks != 1 || len(tb.zygotes) != 0 || len(tb.tokens) != 0 || len(tb.workers) != 0 {
		t.Errorf("state %d after %d forks; %d zygotes, %d orders, %d workers", w.state, w.forks, len(tb.zygotes), len(tb.tokens), len(tb.workers))
	}
}

// A worker that is still wanted is forked by another zygote.
func TestWorker_ZygoteLostBeforeItsFork_IsForkedByAnother(t *testing.T) {
	tb, j := openTable(t)
	w, z, _ := ordered(tb, j)
	tb.zygoteGone(z, "it was killed")
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if w.forks != 2 || w.zygote == z {
		t.Errorf("%d forks", w.forks)
	}
}

// The fork was done, but nobody told; the worker that says hello is to be gone.
func TestWorker_DismissedBeforeItsHello_IsKilled(t *testing.T) {
	tb, j := openTable(t)
	w, _, _ := ordered(tb, j)
	tb.mu.Lock()
	tb.EndWithJob(w, time.Second)
	tb.mu.Unlock()
	tb.mu.Lock()
	if got, err := tb.Claim(w.token); err != nil || got != w {
		t.Fatalf("%v, %v", got, err)
	}
	ended := sleeps(t, tb, w)
	tb.mu.Unlock()
	ended()
}

// A worker that said that it ends by itself and does not is killed: it may hold a device.
func TestWorker_DoesNotEndByItself_IsKilled(t *testing.T) {
	tb, j := openTable(t)
	w, _, _ := ordered(tb, j)
	tb.mu.Lock()
	ended := sleeps(t, tb, w)
	tb.SetReady(w)
	tb.ExpectEnd(w, 10*time.Millisecond)
	tb.mu.Unlock()
	ended()
}
