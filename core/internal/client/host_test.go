package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/execute"
	"github.com/eagleray/eagleray/core/internal/pace"
	"github.com/eagleray/eagleray/core/internal/submit"
)

// A driver whose workers are all busy lets answers collect; a worker does not, because others wait for its answers.
func TestMayCoalesce_OnlyADriver(t *testing.T) {
	for _, w := range []*execute.Worker{nil, new(execute.Worker)} {
		c := bare(&Client{exec: w})
		if (*host)(c).MayCoalesce() {
			t.Error("answers collect though nobody works")
		}
		c.submit.Leases[1] = &submit.Lease{Class: &submit.Class{Paces: []pace.Pace{{Micros: 1000}}}, Busy: 4}
		if got := (*host)(c).MayCoalesce(); got != (w == nil) {
			t.Errorf("in a worker %v: answers may be left to collect: %v", w != nil, got)
		}
	}
}
