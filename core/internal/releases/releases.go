// Package releases says what nodes of different releases of Eagle Ray do not do with each other while a cluster is upgraded. Daemons talk to all nodes. Processes
// talk to those of nodes only whose processes speak the same version of package wire.
package releases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// other reports whether the processes of a node are known to speak another version than those of this build.
func other(n *record.Node) bool { return n.Wire != 0 && n.Wire != wire.Version }

// Talks returns why processes of this node do not talk to those of another one, nil if they do. A dead node is no question of its release.
func Talks(n *record.Node) error {
	if n.State == record.NodeDead || !other(n) {
		return nil
	}
	return fault.New(fault.VersionMismatch, "node %s (%s) is of another release of Eagle Ray: its processes speak version %d and those of this node version %d, so they do not talk to each other. "+
		"While a cluster is upgraded, run the program on a node of that release, or wait until the upgrade is over", n.ID, n.Address, n.Wire, wire.Version)
}

// Idle says which living nodes take no work of this node's programs because of their release; "" if there are none.
func Idle(nodes map[uint32]record.Node) string {
	count, found := 0, []int{}
	for _, n := range nodes {
		if n.State != record.NodeAlive || !other(&n) {
			continue
		}
		count++
		if !slices.Contains(found, n.Wire) {
			found = append(found, n.Wire)
		}
	}
	slices.Sort(found)
	versions := make([]string, len(found))
	for i, v := range found {
		versions[i] = fmt.Sprint(v)
	}
	switch count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 node of the cluster is of another release (its processes speak version %s, those of this node version %d) and takes no work of this node's programs", versions[0], wire.Version)
	}
	return fmt.Sprintf("%d nodes of the cluster are of another release (their processes speak version %s, those of this node version %d) and take no work of this node's programs", count, strings.Join(versions, " or "), wire.Version)
}
