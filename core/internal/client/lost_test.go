package client

import "testing"

// What was fetched for a call that cannot begin is let go of.
func TestArguments_OneIsLost_TheOthersAreLetGoOf(t *testing.T) {
	d := startDaemon(t)
	var m made
	worker := d.makes(&m)
	c := d.driver()
	f := tasks(t, c, "f", 1, 3)
	here, gone := results(t, c, f, 1, "a")[0], results(t, c, f, 1, "b")[0]
	d.loses(gone)
	out := submitText(t, c, tasks(t, c, "g", 1, 0), "y", here, gone)
	if got := get(t, c, out); got != "g0.1,y,f0.1,a,f0.3,b" {
		t.Errorf("got %q", got)
	}
	letGo(t, c, here, gone, out)
	waitFor(t, "the worker looks at nothing", func() bool {
		worker.mu.Lock()
		defer worker.mu.Unlock()
		return worker.local.Count().InUse == 0
	})
}
