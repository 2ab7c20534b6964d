package nodeprocess

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// otherReleases says which living nodes take no work of this node's programs because their processes speak another version; "" if there are none.
func (m *member) otherReleases() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return otherReleases(m.nodes)
}

func otherReleases(nodes map[uint32]record.Node) string {
	count, versions := 0, []string{}
	for _, n := range nodes {
		if n.State != record.NodeAlive || n.Wire == 0 || n.Wire == wire.Version {
			continue
		}
		count++
		if v := fmt.Sprint(n.Wire); !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	slices.Sort(versions)
	switch count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 node of the cluster is of another release (its processes speak version %s, those of this node version %d) and takes no work of this node's programs", versions[0], wire.Version)
	}
	return fmt.Sprintf("%d nodes of the cluster are of another release (their processes speak version %s, those of this node version %d) and take no work of this node's programs", count, strings.Join(versions, " or "), wire.Version)
}
