package wire

import "maps"

// ClusterTotals returns the resources of all nodes that are alive. Only the row of the daemon that has answered has Available.
func (i *ClusterInfo) ClusterTotals() map[string]int64 {
	sum := maps.Clone(i.Totals.Resources)
	for _, n := range i.Nodes {
		if !n.Alive || n.Available != nil {
			continue
		}
		for name, amount := range n.Resources {
			sum[name] += amount
		}
	}
	return sum
}
