package client

import (
	"testing"

	"github.com/eagleray/eagleray/core/execute"
)

func TestMayCoalesce_OnlyWhileAllWorkersAreBusyForLong(t *testing.T) {
	long, short := &class{paces: []pace{{us: 1000, depth: 2}}}, &class{paces: []pace{{us: 10, depth: 200}}}
	for what, x := range map[string]struct {
		leases []*lease
		want   bool
	}{
		"no worker":                           {nil, false},
		"4 ms of work":                        {[]*lease{{class: long, busy: 4}}, true},
		"500 tasks of 10 us at one of two":    {[]*lease{{class: long, busy: 4}, {class: short, busy: 500}}, false},
		"2 ms of work at one of two":          {[]*lease{{class: long, busy: 4}, {class: long, busy: 2}}, false},
		"a worker whose task waits, of two":   {[]*lease{{class: long, busy: 4}, {class: long, busy: 4, paused: true}}, false},
		"a worker that has nothing to do":     {[]*lease{{class: long}}, false},
		"4 ms of work at each of two workers": {[]*lease{{class: long, busy: 4}, {class: long, busy: 4}}, true},
	} {
		c := bare(&Client{})
		for i, l := range x.leases {
			c.leases[uint64(i)] = l
		}
		if got := (*host)(c).MayCoalesce(); got != x.want {
			t.Errorf("%s: answers may be left to collect: %v, want %v", what, got, x.want)
		}
	}
	c := bare(&Client{exec: new(execute.Worker)})
	c.leases[1] = &lease{class: long, busy: 4}
	if (*host)(c).MayCoalesce() {
		t.Error("a worker, for whose answers others wait, lets answers collect")
	}
}
