package client

import (
	"path/filepath"
	"testing"
)

// A lease whose worker cannot be reached goes back as unusable, and its class asks for another one.
func TestGrant_WorkerIsNotThere_AnotherLeaseIsWanted(t *testing.T) {
	d := startDaemon(t)
	d.mu.Lock()
	d.idle = []string{filepath.Join(d.dir, "nobody")}
	d.mu.Unlock()
	c := d.driver()
	ref := submitText(t, c, template(t, c, "f"), "x")
	d.eventually("the lease comes back", func() bool { return len(d.returned) == 1 })
	d.mu.Lock()
	if len(d.idle) != 0 {
		t.Error("the worker that is not there counts as usable")
	}
	d.mu.Unlock()
	d.worker(echo)
	expectOutcome(t, c, "the task", ref, "x", "")
}

// A lease with an alternative that its class does not have goes back.
func TestGrant_UnknownAlternative_GoesBack(t *testing.T) {
	for _, choice := range []int{-1, 1} {
		d := startDaemon(t)
		d.mu.Lock()
		d.choice = choice
		d.mu.Unlock()
		worker := d.worker(echo)
		c := d.driver()
		submitText(t, c, template(t, c, "f"), "x")
		d.eventually("the lease comes back", func() bool { return d.given > 0 })
		worker.mu.Lock()
		if n := len(worker.exec.Callers()); n != 0 {
			t.Errorf("alternative %d: %d connections to its worker", choice, n)
		}
		worker.mu.Unlock()
	}
}
