package leases

import (
	"testing"

	"github.com/eagleray/eagleray/core/internal/pace"
)

// Answers may be left to collect while every worker has work until long after the next look.
func TestAllBusy_OnlyWhileAllWorkersAreBusyForLong(t *testing.T) {
	long, short := &class{Paces: []pace.Pace{{Micros: 1000, Depth: 2}}}, &class{Paces: []pace.Pace{{Micros: 10, Depth: 200}}}
	for what, x := range map[string]struct {
		leases []*lease
		want   bool
	}{
		"no worker":                                             {nil, false},
		"4 ms of work":                                          {[]*lease{{Class: long, Busy: 4}}, true},
		"500 tasks of 10 us at one of two":                      {[]*lease{{Class: long, Busy: 4}, {Class: short, Busy: 500}}, false},
		"2 ms of work at one of two":                            {[]*lease{{Class: long, Busy: 4}, {Class: long, Busy: 2}}, false},
		"a worker whose task waits, of two":                     {[]*lease{{Class: long, Busy: 4}, {Class: long, Busy: 4, Paused: true}}, false},
		"a worker that has nothing to do":                       {[]*lease{{Class: long}}, false},
		"20 ms of work at a worker, and its answers take 18 ms": {[]*lease{{Class: long, Busy: 20, way: 18_000}}, false},
		"20 ms of work at a worker, and its answers take 17 ms": {[]*lease{{Class: long, Busy: 20, way: 17_000}}, true},
		"4 ms of work at each of two workers":                   {[]*lease{{Class: long, Busy: 4}, {Class: long, Busy: 4}}, true},
	} {
		c, _ := newPool(t)
		for i, l := range x.leases {
			c.Leases[uint64(i)] = l
		}
		if got := c.AllBusy(); got != x.want {
			t.Errorf("%s: answers may be left to collect: %v, want %v", what, got, x.want)
		}
	}
}
