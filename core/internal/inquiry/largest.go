package inquiry

import (
	"maps"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// addressPrefix begins the names of the resources that each node has of its own.
const addressPrefix = "node:"

// Largest returns what the largest living nodes have in all, the first ones first: of each node that no other node exceeds
// or equals in everything. Addresses do not count in that: the resource node:ADDRESS of a node that is left out stands
// with the node that exceeds it. So what exceeds each of them fits no node.
func Largest(nodes []wire.NodeInfo) (largest []map[string]int64) {
	for i := range nodes {
		if !nodes[i].Alive {
			continue
		}
		n := maps.Clone(nodes[i].Resources)
		if larger := slices.IndexFunc(largest, func(o map[string]int64) bool { return covers(o, n) }); larger >= 0 {
			addAddresses(largest[larger], n)
			continue
		}
		largest = slices.DeleteFunc(largest, func(o map[string]int64) bool {
			if !covers(n, o) {
				return false
			}
			addAddresses(n, o)
			return true
		})
		largest = append(largest, n)
	}
	return largest
}

// covers reports whether a has at least what b has, addresses left out.
func covers(a, b map[string]int64) bool {
	for name, n := range b {
		if a[name] < n && !strings.HasPrefix(name, addressPrefix) {
			return false
		}
	}
	return true
}

// addAddresses adds to a the addresses of b.
func addAddresses(a, b map[string]int64) {
	for name, n := range b {
		if strings.HasPrefix(name, addressPrefix) {
			a[name] = max(a[name], n)
		}
	}
}
