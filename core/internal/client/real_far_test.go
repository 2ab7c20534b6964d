package client

import (
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/play"
)

// Tasks of a millisecond at a node whose answers take 20 ms: each worker there has the tasks already that it runs meanwhile.
// Without that, it would have five at a time at most, and would wait for most of the time.
func TestRealPlaced_NodeIsFarAway_ItsWorkersHaveTasksMeanwhile(t *testing.T) {
	x := startPlacedOver(t, &play.Network{Way: 10 * time.Millisecond})
	tm := x.template("sleeps", 0, func(t *Template) { t.Resources = play.Units(map[string]float64{"CPU": 1, "b": 0.1}) })
	var refs []ids.Object
	for range 20 { // workers start, and tasks are measured
		refs = append(refs, submitText(t, x.Client, tm, "x"))
	}
	for _, ref := range refs {
		x.expect(ref, "x", "")
	}
	over, most := make(chan struct{}), make(chan int)
	go func() { most <- x.mostAtOnce(over) }()
	begun := time.Now()
	refs = nil
	for range 1000 {
		refs = append(refs, submitText(t, x.Client, tm, "x"))
	}
	for _, ref := range refs {
		x.expect(ref, "x", "")
	}
	took := time.Since(begun)
	close(over)
	if n := <-most; n < 10 {
		t.Errorf("a worker far away has had %d tasks at a time", n)
	}
	if way := x.wayTo(secondNode); way < 20*time.Millisecond || way > time.Second {
		t.Errorf("the round trip takes %v, as far as the driver knows", way)
	}
	t.Logf("1,000 tasks of a millisecond on two workers far away took %v", took)
}

// wayTo returns what the driver knows of the way to a node.
func (r *real) wayTo(node uint32) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.guests.RoundTrip(node)
}

// mostAtOnce returns how many tasks a lease has had at a time, until a channel is closed.
func (r *real) mostAtOnce(over <-chan struct{}) (most int) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return most
		case <-tick.C:
		}
		func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, l := range r.Client.submit.Leases {
				most = max(most, l.Busy)
			}
		}()
	}
}
