package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// runStatus prints what the cluster is and does.
func runStatus(args []string, out, errs io.Writer) error {
	if askedHelp("status", statusOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("status", statusOptions, args)
	if err != nil {
		return err
	}
	dir, err := sessionShown(flags)
	if err != nil {
		return err
	}
	c, err := dialCluster(dir)
	if err != nil {
		return fmt.Errorf("%w (%w)", errNoCluster, err)
	}
	defer c.close()
	var head wire.HeadState
	if err := c.call(wire.THeadState, &head); err != nil {
		return err
	}
	if head.Away != "" {
		return fmt.Errorf("the daemon (pid %d) runs, but the head of its cluster is away: %s", c.pid, head.Away)
	}
	var info wire.ClusterInfo
	if err := c.call(wire.TClusterInfo, &info); err != nil {
		return noStatus(c, err)
	}
	var store wire.ObjStats
	if err := c.call(wire.TObjStats, &store); err != nil {
		return err
	}
	tellUnused("status", unusedGiven(statusOptions, flags), errs)
	printStatus(out, c, &info, &store)
	return nil
}

// sessionShown returns the session that the flag or RAY_ADDRESS names, by the address of a head or by its folder; else the current one.
func sessionShown(flags map[string]string) (string, error) {
	base, address, from := baseOf(flags), flags["--address"], "--address"
	if address == "" {
		address, from = os.Getenv("RAY_ADDRESS"), "RAY_ADDRESS"
	}
	switch {
	case address == "" || address == "auto" || address == "local":
		return currentSession(base)
	case filepath.IsAbs(address):
		return strings.TrimSuffix(address, "/d.sock"), nil
	}
	dir, err := sessionOf(base, address)
	if err != nil {
		return "", fmt.Errorf("status: %s: %w", from, err)
	}
	return dir, nil
}

// noStatus says what it means that a daemon answers and the question for the cluster does not return.
func noStatus(c *cluster, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("the daemon (pid %d) runs, but the head of its cluster did not answer within %v: look whether the head runs and can be reached; what the daemon saw is in %s",
		c.pid, callLimit, filepath.Join(c.dir, sessiondir.LogName))
}

func printStatus(out io.Writer, c *cluster, info *wire.ClusterInfo, store *wire.ObjStats) {
	fmt.Fprintf(out, "Eagle Ray cluster, session %s\n\nNodes\n", c.dir)
	for _, n := range info.Nodes {
		state, role := "alive", "node"
		if !n.Alive {
			state = "dead"
		} else if n.Unreachable {
			state = "unreachable"
		}
		if n.IsHead {
			role = "head"
		}
		at := n.Address
		if n.Name != n.Address {
			at = n.Name + "  " + at
		}
		fmt.Fprintf(out, "  %s %s  %s  %s (%s, pid %d)\n", state, role, hex.EncodeToString(n.NodeID)[:8], at, n.Hostname, n.Pid)
	}
	if alive := aliveNodes(info); alive < 2 {
		fmt.Fprintf(out, "\nResources (used / total)\n")
	} else {
		fmt.Fprintf(out, "\nResources (used here / total here / total of %d nodes)\n", alive)
	}
	all := info.ClusterTotals()
	for _, name := range sortedKeys(all) {
		if strings.HasPrefix(name, "node:") {
			continue
		}
		total := info.Totals.Resources[name]
		used := total - info.Available[name]
		if name == "object_store_memory" {
			used = int64(store.Used) * int64(resource.Unit)
		}
		line := amount(name, used) + " / " + amount(name, total)
		if aliveNodes(info) > 1 {
			line += " / " + amount(name, all[name])
		}
		fmt.Fprintf(out, "  %-22s %s\n", name, line)
	}
	if aliveNodes(info) > 1 {
		fmt.Fprintf(out, "\nOn this node")
	}
	fmt.Fprintf(out, "\n%s, %s, %s, %s in the store\n", count(info.Jobs, "job"), count(info.Workers, "worker"), count(info.Actors, "actor"), count(store.Objects, "object"))
	if len(info.GPUUses) > 0 {
		fmt.Fprintf(out, "\nGPU memory of workers\n")
	}
	for _, u := range info.GPUUses {
		share := ""
		if u.Share > 0 {
			share = " of " + resource.FormatBytes(u.Share)
		}
		fmt.Fprintf(out, "  pid %-8d GPU %s  %s%s  %s\n", u.Pid, u.Device, resource.FormatBytes(u.Bytes), share, u.Name)
	}
	if len(info.Pending) == 0 {
		fmt.Fprintln(out, "Nothing waits.")
		return
	}
	fmt.Fprintf(out, "\nWaiting for resources or workers\n")
	for _, name := range slices.Sorted(maps.Keys(info.Pending)) {
		fmt.Fprintf(out, "  %-22s %d\n", name, info.Pending[name])
	}
	printDemand(out, info.Demands)
}

// aliveNodes counts the nodes that are alive.
func aliveNodes(info *wire.ClusterInfo) (n int) {
	for i := range info.Nodes {
		if info.Nodes[i].Alive {
			n++
		}
	}
	return n
}

// printDemand says what the waiting ones would need: what has alternatives
// counts as one of them.
func printDemand(out io.Writer, demands []wire.Demand) {
	if len(demands) == 0 {
		return
	}
	n := make(map[string]int)
	for _, d := range demands {
		n[resource.FromWire(d.Resources).String()] += d.Count
	}
	fmt.Fprintf(out, "\nDemand\n")
	for _, need := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(out, "  %d × %s\n", n[need], need)
	}
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
