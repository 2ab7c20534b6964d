package cli

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// printStatus prints what the cluster of a session is and does.
func printStatus(out io.Writer, dir string, info *wire.ClusterInfo) {
	fmt.Fprintf(out, "Eagle Ray cluster, session %s\n\nNodes\n", dir)
	for i := range info.Nodes {
		n := &info.Nodes[i]
		state, role := "alive", "node"
		if !n.Alive {
			state = "dead"
		} else if n.Unreachable {
			state = "unreachable"
		} else if n.DrainReason != "" {
			state = "draining"
		}
		if n.IsHead {
			role = "head"
		}
		at := n.Address
		if n.Name != n.Address {
			at = n.Name + "  " + at
		}
		fmt.Fprintf(out, "  %s %s  %s  %s (%s, pid %d)%s\n", state, role, idBegin(n.NodeID), at, n.Hostname, n.Pid, draining(n, time.Now())+whySilent(info, n))
	}
	printResources(out, info)
	var jobs, workers, actors, objects int
	for _, u := range info.Uses() {
		jobs, workers, actors, objects = jobs+u.Jobs, workers+u.Workers, actors+u.Actors, objects+u.Store.Objects
	}
	fmt.Fprintf(out, "\n%s, %s, %s, %s in the store\n", count(jobs, "job"), count(workers, "worker"), count(actors, "actor"), count(objects, "object"))
	printGPUs(out, info)
	printWaiting(out, info)
}

// printHeads prints how many heads there are, which one leads, and which ones are not healthy.
func printHeads(out io.Writer, list []wire.HeadInfo) {
	if len(list) == 0 {
		return
	}
	leader, votes, well := "none leads", 0, 0
	for _, h := range list {
		if h.Role == wire.HeadLeads {
			leader = fmt.Sprintf("head %d leads", h.Number)
		}
		if h.Role == wire.HeadLeads || h.Role == wire.HeadVotes {
			votes++
			if h.Why == "" {
				well++
			}
		}
	}
	fmt.Fprintf(out, "\nHeads (%s, %d of %s healthy)\n", leader, well, count(votes, "voter"))
	for _, h := range list {
		state := "healthy"
		if h.Why != "" {
			state = "not healthy: " + h.Why
		}
		fmt.Fprintf(out, "  %-7s %d  %s  %s\n", h.Role, h.Number, strings.Join(h.Addresses, ","), state)
	}
}

// idBegin is the begin of a node's id, as lists show it.
func idBegin(id []byte) string { return hex.EncodeToString(id)[:min(8, 2*len(id))] }

// whySilent says that a node has not told what it does, and why.
func whySilent(info *wire.ClusterInfo, n *wire.NodeInfo) string {
	for _, s := range info.Silent {
		if bytes.Equal(s.NodeID, n.NodeID) {
			return ", left out below: " + s.Why
		}
	}
	return ""
}

// printResources prints what of the resources is in use: of all nodes together, and then of each.
func printResources(out io.Writer, info *wire.ClusterInfo) {
	uses := info.Uses()
	total, used := make(map[string]int64), make(map[string]int64)
	for _, u := range uses {
		for name, n := range u.Resources {
			total[name] += n
			used[name] += usedOf(u, name)
		}
	}
	if len(uses) < 2 {
		fmt.Fprintf(out, "\nResources (used / total)\n")
	} else {
		fmt.Fprintf(out, "\nResources of %d nodes (used / total)\n", len(uses))
	}
	for _, name := range sortedKeys(total) {
		if !strings.HasPrefix(name, "node:") {
			fmt.Fprintf(out, "  %-22s %s / %s\n", name, amount(name, used[name]), amount(name, total[name]))
		}
	}
	if len(uses) < 2 {
		return
	}
	fmt.Fprintf(out, "\nResources of each node (used / total)\n")
	for _, u := range uses {
		var of []string
		for _, name := range sortedKeys(u.Resources) {
			if !strings.HasPrefix(name, "node:") {
				of = append(of, fmt.Sprintf("%s %s / %s", name, amount(name, usedOf(u, name)), amount(name, u.Resources[name])))
			}
		}
		fmt.Fprintf(out, "  %s  %s\n", idBegin(u.NodeID), strings.Join(of, ", "))
	}
}

// usedOf returns how much of a resource is in use on a node.
func usedOf(u *wire.NodeUse, name string) int64 {
	if name == "object_store_memory" {
		return int64(u.Store.Used) * int64(resource.Unit)
	}
	return u.Resources[name] - u.Available[name]
}

// printGPUs prints which workers hold memory of GPUs.
func printGPUs(out io.Writer, info *wire.ClusterInfo) {
	head := "\nGPU memory of workers\n"
	for _, u := range info.Uses() {
		node := ""
		if len(info.Others) > 0 {
			node = idBegin(u.NodeID) + "  "
		}
		for _, g := range u.GPUUses {
			share := ""
			if g.Share > 0 {
				share = " of " + resource.FormatBytes(g.Share)
			}
			fmt.Fprintf(out, "%s  %spid %-8d GPU %s  %s%s  %s\n", head, node, g.Pid, g.Device, resource.FormatBytes(g.Bytes), share, g.Name)
			head = ""
		}
	}
}

// printWaiting prints what waits on all nodes, and why.
func printWaiting(out io.Writer, info *wire.ClusterInfo) {
	pending, demands := make(map[string]int), make(map[string]int)
	needs := make(map[string]resource.Set)
	for _, u := range info.Uses() {
		for name, n := range u.Pending {
			pending[name] += n
		}
		for _, d := range u.Demands {
			need := resource.FromWire(d.Resources)
			needs[need.String()] = need
			demands[need.String()] += d.Count
		}
	}
	if len(pending) == 0 {
		fmt.Fprintln(out, "Nothing waits.")
		return
	}
	fmt.Fprintf(out, "\nWaiting for resources or workers\n")
	for _, name := range slices.Sorted(maps.Keys(pending)) {
		fmt.Fprintf(out, "  %-22s %d\n", name, pending[name])
	}
	if len(demands) == 0 {
		return
	}
	fmt.Fprintf(out, "\nDemand\n") // what has alternatives counts as one of them
	for _, need := range slices.Sorted(maps.Keys(demands)) {
		fmt.Fprintf(out, "  %d × %s: %s\n", demands[need], need, whyWaits(needs[need], info.Uses()))
	}
}

// whyWaits says why something is not started, as far as sums tell.
func whyWaits(need resource.Set, uses []*wire.NodeUse) string {
	fits, most := 0, make(map[string]int64)
	taken := make(map[string]bool)
	for _, u := range uses {
		for name, n := range u.Resources {
			most[name] = max(most[name], n)
		}
		if len(lacks(need, u.Resources)) > 0 {
			continue
		}
		fits++
		missing := lacks(need, u.Available)
		if len(missing) == 0 {
			return "node " + idBegin(u.NodeID) + " has that free, and starts workers or will be asked"
		}
		for _, name := range missing {
			taken[name] = true
		}
	}
	if fits > 0 {
		return fmt.Sprintf("%s could run it, when others give back %s", count(fits, "node"), strings.Join(slices.Sorted(maps.Keys(taken)), ", "))
	}
	missing := lacks(need, most)
	switch {
	case len(missing) == 0:
		return "no single node has all of that"
	case most[missing[0]] == 0:
		return "no node has " + missing[0]
	}
	return fmt.Sprintf("no node has that much %s: at most %s", missing[0], amount(missing[0], most[missing[0]]))
}

// lacks returns the resources of which there is less than needed, in order.
func lacks(need resource.Set, there map[string]int64) (names []string) {
	for name, n := range need {
		if there[name] < int64(n) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// amount prints units of 1/10000, byte counts in decimal units.
func amount(name string, n int64) string {
	if name == resource.GPUMemory {
		return resource.Text(name, resource.Amount(n))
	}
	if name != "memory" && name != "object_store_memory" {
		return resource.Amount(n).String()
	}
	b := float64(n) / float64(resource.Unit)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if b < 1000 {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", b), ".0") + " " + unit
		}
		b /= 1000
	}
	return fmt.Sprintf("%.1f TB", b)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
