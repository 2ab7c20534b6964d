package wire

import "bytes"

// Uses returns what is in use on each node that has said so, the one that has answered first.
func (i *ClusterInfo) Uses() []*NodeUse {
	uses := []*NodeUse{&i.NodeUse}
	for j := range i.Others {
		uses = append(uses, &i.Others[j])
	}
	return uses
}

// ClusterTotals returns the resources of all nodes that are alive.
func (i *ClusterInfo) ClusterTotals() map[string]int64 {
	sum := make(map[string]int64)
	add(sum, i.Resources)
	for _, n := range i.Nodes {
		if n.Alive && !bytes.Equal(n.NodeID, i.NodeID) {
			add(sum, n.Resources)
		}
	}
	return sum
}

// ClusterAvailable returns what is free on the nodes that have said so.
func (i *ClusterInfo) ClusterAvailable() map[string]int64 {
	sum := make(map[string]int64)
	for _, u := range i.Uses() {
		add(sum, u.Available)
	}
	return sum
}

func add(sum, amounts map[string]int64) {
	for name, amount := range amounts {
		sum[name] += amount
	}
}
