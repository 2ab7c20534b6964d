package cli

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// shownInfo is of a node that is drained, one that is dead and one that does not answer.
func shownInfo() *wire.ClusterInfo {
	use := wire.NodeUse{NodeID: []byte{1}, Resources: map[string]int64{"CPU": 40000, "object_store_memory": 10000_0000}, Available: map[string]int64{"CPU": 25000, "object_store_memory": 10000_0000},
		Workers: 3, Actors: 1, Pending: map[string]int{"f": 2}, Demands: []wire.Demand{{Name: "f", Resources: map[string]int64{"CPU": 80000}, Count: 2}}, Store: wire.StoreSums{Capacity: 10000, Used: 500, Objects: 4}}
	return &wire.ClusterInfo{NodeUse: use, Nodes: []wire.NodeInfo{
		{NodeID: []byte{1}, Alive: true, Name: "one", Labels: map[string]string{"zone": "a"}, DrainReason: "DRAIN_NODE_REASON_PREEMPTION", DrainMessage: "spot <now>", DrainDeadlineMs: 5000},
		{NodeID: []byte{2}, Name: "two", Reason: "it was stopped"},
		{NodeID: []byte{3}, Alive: true, Name: "three", Unreachable: true},
	}, Silent: []wire.SilentNode{{NodeID: []byte{3}, Why: "no answer"}}}
}

func TestPrintStatusJSON_SaysAllThatStatusKnows(t *testing.T) {
	var out bytes.Buffer
	requested := []byte(`[{"count":2,"resources":{"CPU":10000},"labels":{"zone":"b"}}]`)
	if err := printStatusJSON(&out, "/s", shownInfo(), []wire.HeadInfo{{Number: 7, Role: wire.HeadLeads}}, requested); err != nil {
		t.Fatal(err)
	}
	var got statusJSON
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, n := range got.Nodes {
		states = append(states, n.ID+" "+n.State+" "+n.Reason)
	}
	if want := []string{"01 draining ", "02 dead it was stopped", "03 unreachable no answer"}; !reflect.DeepEqual(states, want) {
		t.Errorf("the nodes are %q, want %q", states, want)
	}
	one := got.Nodes[0]
	if one.Drain == nil || *one.Drain != (drainJSON{"DRAIN_NODE_REASON_PREEMPTION", "spot <now>", 5000}) || one.Labels["zone"] != "a" {
		t.Errorf("the node that is drained: %+v", one)
	}
	if u := one.Use; u == nil || u.Total["CPU"] != 4 || u.Used["CPU"] != 1.5 || u.Used["object_store_memory"] != 500 || u.Workers != 3 || u.StoreTotal != 10000 || u.Pending["f"] != 2 {
		t.Errorf("its use: %+v", u)
	}
	if got.Nodes[1].Use != nil || got.Total["CPU"] != 4 || got.Used["CPU"] != 1.5 || got.Pending["f"] != 2 || got.Session != "/s" {
		t.Errorf("the sums: %+v", got)
	}
	want := []demandJSON{{Resources: map[string]float64{"CPU": 8}, Count: 2, Why: "no node has that much CPU: at most 4"}}
	if !reflect.DeepEqual(got.Demands, want) {
		t.Errorf("the demands are %+v", got.Demands)
	}
	if want := []demandJSON{{Resources: map[string]float64{"CPU": 1}, Count: 2, Labels: map[string]string{"zone": "b"}}}; !reflect.DeepEqual(got.Requested, want) {
		t.Errorf("what was requested is %+v", got.Requested)
	}
	if len(got.Heads) != 1 || got.Heads[0].Number != 7 {
		t.Errorf("the heads are %+v", got.Heads)
	}
	if err := printStatusJSON(&out, "/s", shownInfo(), nil, []byte("{")); err == nil {
		t.Error("a request that cannot be read is no error")
	}
}

func TestPrintStatus_Long_ShowsEachNodeAndWhatFailed(t *testing.T) {
	var out bytes.Buffer
	printStatus(&out, "/s", shownInfo())
	printEach(&out, shownInfo(), time.UnixMilli(1500))
	printFailures(&out, shownInfo())
	for _, part := range []string{
		"  draining node  01  one", "it was preempted: spot <now>; it ends in 4 s at the latest", "    label zone=a\n", "    CPU                  1.5 / 4\n", "    waits: f 2\n",
		"3 workers, 1 actor, 4 objects in the store\n", "\nRecent failures\n  node 02 (two): it was stopped\n",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, out.String())
		}
	}
}
