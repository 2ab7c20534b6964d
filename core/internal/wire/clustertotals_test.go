package wire

import (
	"maps"
	"testing"
)

func TestClusterTotals_SeveralNodes_LivingOnesCountOnce(t *testing.T) {
	info := ClusterInfo{
		Totals: Totals{Resources: map[string]int64{"CPU": 20, "gpu_memory": 5}},
		Nodes: []NodeInfo{
			{Alive: true, Resources: map[string]int64{"CPU": 20}, Available: map[string]int64{}}, // the node itself, without a late total
			{Alive: true, Resources: map[string]int64{"CPU": 10, "b": 1}},
			{Resources: map[string]int64{"CPU": 70}},
		},
	}
	if got, want := info.ClusterTotals(), (map[string]int64{"CPU": 30, "b": 1, "gpu_memory": 5}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if info.Totals.Resources["CPU"] != 20 {
		t.Error("the node's own totals were changed")
	}
}
