package wire

import (
	"maps"
	"testing"
)

func TestClusterTotals_SeveralNodes_LivingOnesCountOnce(t *testing.T) {
	info := ClusterInfo{
		NodeUse: NodeUse{NodeID: []byte{1}, Resources: map[string]int64{"CPU": 20, "gpu_memory": 5}, Available: map[string]int64{"CPU": 3}},
		Others:  []NodeUse{{NodeID: []byte{2}, Available: map[string]int64{"CPU": 4, "b": 1}}},
		Nodes: []NodeInfo{
			{NodeID: []byte{1}, Alive: true, Resources: map[string]int64{"CPU": 20}}, // the node itself, without a late total
			{NodeID: []byte{2}, Alive: true, Resources: map[string]int64{"CPU": 10, "b": 1}},
			{NodeID: []byte{3}, Resources: map[string]int64{"CPU": 70}},
		},
	}
	if got, want := info.ClusterTotals(), (map[string]int64{"CPU": 30, "b": 1, "gpu_memory": 5}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := info.ClusterAvailable(), (map[string]int64{"CPU": 7, "b": 1}); !maps.Equal(got, want) {
		t.Errorf("free is %v, want %v", got, want)
	}
	if info.Resources["CPU"] != 20 || info.Available["CPU"] != 3 {
		t.Error("the node's own totals were changed")
	}
}
