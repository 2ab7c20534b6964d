package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/fault"
)

// An actor's program ends it from one of its groups while a call of another group runs.
func TestLastCalls_OthersRun_TheyEndAndNothingBegins(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	left := make(chan bool)
	go func() {
		it, err := g.a.worker.NextTask(-1, "io")
		left <- err == nil && it.Kind == ItemMethod && g.a.worker.LastCalls(it.Token, -1)
	}()
	plain := g.method(t, g.c, "")
	runs := callActor(t, g.c, g.id, plain, "runs")
	g.d.eventually("a call runs", func() bool { return g.inside.Load() == 1 })
	waits := callActor(t, g.c, g.id, plain, "waits")
	leaves := callActor(t, g.c, g.id, g.method(t, g.c, "io"), "leaves")
	leaving := func() bool {
		g.a.worker.mu.Lock()
		defer g.a.worker.mu.Unlock()
		return g.a.worker.exec.Counts().Leaving
	}
	g.d.eventually("the actor leaves", leaving)
	if g.a.worker.LastCalls(0, time.Millisecond) {
		t.Error("the last call has ended, though one runs")
	}
	if _, code := outcome(t, g.c, leaves); code != fault.ActorDied {
		t.Errorf("the call that ends the actor, while another runs: %q", code)
	}
	close(g.gate)
	if !<-left {
		t.Error("LastCalls returned before the last call had ended")
	}
	if text, code := outcome(t, g.c, runs); text != "runs" || code != "" {
		t.Errorf("the call that ran: %q, %q", text, code)
	}
	if n := g.waiting(); n != 1 {
		t.Errorf("%d calls wait, want the one that had not begun", n)
	}
	if _, err := g.c.Get(waits, 0); err != nil {
		t.Errorf("the call that waits was answered: %v", err)
	}
}
