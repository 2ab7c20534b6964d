package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
)

// fill gives the actor's groups a bound of their own, and calls the blocked default group until it is held.
func (g *grouped) fill(t *testing.T, share, calls int) (results []ids.Object) {
	t.Helper()
	g.a.worker.mu.Lock()
	g.a.worker.exec.LimitBacklog(64<<20, share)
	g.a.worker.mu.Unlock()
	plain, pad := g.method(t, g.c, ""), strings.Repeat("x", 10_000)
	for i := range calls {
		results = append(results, callActor(t, g.c, g.id, plain, fmt.Sprint(i, " ", pad)))
	}
	g.d.eventually("the group is held", func() bool {
		g.a.worker.mu.Lock()
		defer g.a.worker.mu.Unlock()
		return g.a.worker.exec.Lane("").Held()
	})
	return results
}

func TestHeld_GroupHasItsFill_ItsCallersKeepItsCallsAndOthersRun(t *testing.T) {
	const share, calls = 1 << 20, 4000 // 40 MB
	g := startGrouped(t, []string{"io"}, nil)
	g.serve(t, "io", func(*Item) {})
	results := g.fill(t, share, calls)
	io := g.method(t, g.c, "io")
	for i := range 300 {
		want := fmt.Sprint(i)
		if text, code := outcome(t, g.c, callActor(t, g.c, g.id, io, want)); text != want || code != "" {
			t.Fatalf("call %d of the other group: %q, %q", i, text, code)
		}
	}
	g.a.worker.mu.Lock()
	waits := g.a.worker.exec.Counts().Backlog
	g.a.worker.mu.Unlock()
	// What the caller has sent before it heard of it comes on top.
	if most := 20 << 20; waits > most {
		t.Errorf("%d bytes of calls wait in the actor, at most %d should", waits, most)
	}
	// A caller that comes now is told.
	other := g.d.driver()
	if _, err := other.OpenActor(g.id, "", "A", 0, 0); err != nil {
		t.Fatal(err)
	}
	if text, code := outcome(t, other, callActor(t, other, g.id, g.method(t, other, "io"), "y")); text != "y" || code != "" {
		t.Fatalf("the other caller's call: %q, %q", text, code)
	}
	late := callActor(t, other, g.id, g.method(t, other, ""), "z")
	other.mu.Lock()
	kept := other.submit.Actors[g.id].Queue.Len()
	other.mu.Unlock()
	if kept != 1 {
		t.Errorf("a new caller keeps %d calls of the group that is held, want 1", kept)
	}
	if err := g.c.Cancel(results[calls-1], false, false); err != nil {
		t.Fatal(err)
	}
	close(g.gate)
	for i, ref := range results[:calls-1] {
		if text, code := outcome(t, g.c, ref); !strings.HasPrefix(text, fmt.Sprint(i, " ")) || code != "" {
			t.Fatalf("call %d of the group that was held: %.20q, %q", i, text, code)
		}
	}
	if text, code := outcome(t, other, late); text != "z" || code != "" {
		t.Errorf("the other caller's call of the group that was held: %q, %q", text, code)
	}
	g.d.eventually("nothing waits", func() bool {
		g.a.worker.mu.Lock()
		defer g.a.worker.mu.Unlock()
		e := g.a.worker.exec
		return e.Counts().Backlog == 0 && !e.Lane("").Held()
	})
}

func TestHeld_HeldCallsWaitForAnotherGroup_ItsCallArrives(t *testing.T) {
	g := startGrouped(t, []string{"io"}, nil)
	g.serve(t, "io", func(*Item) { close(g.gate) }) // what blocks the default group ends by this call only
	results := g.fill(t, 100_000, 500)
	if _, code := outcome(t, g.c, callActor(t, g.c, g.id, g.method(t, g.c, "io"), "open")); code != "" {
		t.Fatalf("the call that the others wait for: %q", code)
	}
	if _, code := outcome(t, g.c, results[len(results)-1]); code != "" {
		t.Fatalf("the last call: %q", code)
	}
}
