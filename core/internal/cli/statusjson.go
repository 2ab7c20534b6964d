package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// What `status --json` prints. Amounts of resources are in the user's units, and bytes for memory.

type statusJSON struct {
	Session   string             `json:"session"`
	Nodes     []nodeJSON         `json:"nodes"`
	Total     map[string]float64 `json:"total"`
	Used      map[string]float64 `json:"used"`
	Pending   map[string]int     `json:"pending"` // by the name of the function or class
	Demands   []demandJSON       `json:"demands"`
	Requested []demandJSON       `json:"requested"` // by request_resources()
	Heads     []headJSON         `json:"heads"`
}

type nodeJSON struct {
	ID       string            `json:"node_id"`
	Name     string            `json:"name"`
	Address  string            `json:"address"`
	Hostname string            `json:"hostname"`
	Pid      int               `json:"pid"`
	State    string            `json:"state"` // alive, draining, unreachable or dead
	IsHead   bool              `json:"is_head"`
	Labels   map[string]string `json:"labels"`
	Reason   string            `json:"reason,omitempty"` // why it is dead, or has not said what it does
	Drain    *drainJSON        `json:"drain,omitempty"`
	Use      *useJSON          `json:"use,omitempty"` // of a node that has said it
}

type drainJSON struct {
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	DeadlineMs int64  `json:"deadline_ms,omitempty"`
}

type useJSON struct {
	Total      map[string]float64 `json:"total"`
	Used       map[string]float64 `json:"used"`
	Jobs       int                `json:"jobs"`
	Workers    int                `json:"workers"`
	Actors     int                `json:"actors"`
	Objects    int                `json:"objects"`
	StoreUsed  uint64             `json:"store_used"`
	StoreTotal uint64             `json:"store_total"`
	Pending    map[string]int     `json:"pending"`
}

type demandJSON struct {
	Resources map[string]float64 `json:"resources"`
	Count     int                `json:"count"`
	Labels    map[string]string  `json:"labels,omitempty"`
	Why       string             `json:"why,omitempty"` // it waits
}

type headJSON struct {
	Number    uint32   `json:"number"`
	Addresses []string `json:"addresses"`
	Role      string   `json:"role"`
	Why       string   `json:"why,omitempty"` // it is not healthy
}

// amounts are amounts as numbers.
func amounts(set map[string]int64) map[string]float64 {
	out := make(map[string]float64, len(set))
	for name, n := range set {
		out[name] = float64(n) / float64(resource.Unit)
	}
	return out
}

// printStatusJSON prints all that status knows, for programs.
func printStatusJSON(out io.Writer, dir string, info *wire.ClusterInfo, heads []wire.HeadInfo, requested []byte) error {
	s := statusJSON{Session: dir, Nodes: []nodeJSON{}, Pending: map[string]int{}, Demands: []demandJSON{}, Requested: []demandJSON{}, Heads: []headJSON{}}
	total, used := map[string]int64{}, map[string]int64{}
	uses := info.Uses()
	for _, u := range uses {
		for name, n := range u.Resources {
			total[name] += n
			used[name] += usedOf(u, name)
		}
		for name, n := range u.Pending {
			s.Pending[name] += n
		}
	}
	s.Total, s.Used = amounts(total), amounts(used)
	needs, counts := demandsOf(uses)
	for _, key := range sortedKeys(counts) {
		s.Demands = append(s.Demands, demandJSON{Resources: amounts(needs[key].Wire()), Count: counts[key], Why: whyWaits(needs[key], uses)})
	}
	for i := range info.Nodes {
		s.Nodes = append(s.Nodes, nodeAsJSON(info, &info.Nodes[i], uses))
	}
	if len(requested) > 0 {
		list, err := record.ParseDemands(requested)
		if err != nil {
			return fmt.Errorf("what request_resources() has asked for cannot be read: %w", err)
		}
		for i := range list {
			s.Requested = append(s.Requested, demandJSON{Resources: amounts(list[i].Resources), Count: list[i].Count, Labels: list[i].Labels})
		}
	}
	for _, h := range heads {
		s.Heads = append(s.Heads, headJSON{Number: h.Number, Addresses: h.Addresses, Role: h.Role, Why: h.Why})
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(&s)
}

func nodeAsJSON(info *wire.ClusterInfo, n *wire.NodeInfo, uses []*wire.NodeUse) nodeJSON {
	j := nodeJSON{ID: hex.EncodeToString(n.NodeID), Name: n.Name, Address: n.Address, Hostname: n.Hostname, Pid: n.Pid, State: stateOf(n), IsHead: n.IsHead, Labels: n.Labels, Reason: n.Reason}
	if n.DrainReason != "" {
		j.Drain = &drainJSON{n.DrainReason, n.DrainMessage, n.DrainDeadlineMs}
	}
	for _, s := range info.Silent {
		if bytes.Equal(s.NodeID, n.NodeID) {
			j.Reason = s.Why
		}
	}
	for _, u := range uses {
		if bytes.Equal(u.NodeID, n.NodeID) {
			spent := map[string]int64{}
			for name := range u.Resources {
				spent[name] = usedOf(u, name)
			}
			j.Use = &useJSON{Total: amounts(u.Resources), Used: amounts(spent), Jobs: u.Jobs, Workers: u.Workers, Actors: u.Actors,
				Objects: u.Store.Objects, StoreUsed: u.Store.Used, StoreTotal: u.Store.Capacity, Pending: u.Pending}
		}
	}
	return j
}

// stateOf is a node's state in one word.
func stateOf(n *wire.NodeInfo) string {
	switch {
	case !n.Alive:
		return "dead"
	case n.Unreachable:
		return "unreachable"
	case n.DrainReason != "":
		return "draining"
	}
	return "alive"
}

// demandsOf adds up what waits on all nodes, by what it needs.
func demandsOf(uses []*wire.NodeUse) (needs map[string]resource.Set, counts map[string]int) {
	needs, counts = map[string]resource.Set{}, map[string]int{}
	for _, u := range uses {
		for _, d := range u.Demands {
			need := resource.FromWire(d.Resources)
			needs[need.String()] = need
			counts[need.String()] += d.Count
		}
	}
	return needs, counts
}

// mostFailures is how many dead nodes status tells of.
const mostFailures = 10

// printFailures prints why nodes have died, the latest one first.
func printFailures(out io.Writer, info *wire.ClusterInfo) {
	head, left := "\nRecent failures\n", mostFailures
	for i := len(info.Nodes) - 1; i >= 0 && left > 0; i-- {
		if n := &info.Nodes[i]; !n.Alive && n.Reason != "" {
			fmt.Fprintf(out, "%s  node %s (%s): %s\n", head, idBegin(n.NodeID), n.Name, n.Reason)
			head = ""
			left--
		}
	}
}

// printEach prints what each node does, for --verbose.
func printEach(out io.Writer, info *wire.ClusterInfo, now time.Time) {
	fmt.Fprintf(out, "\nEach node\n")
	for i := range info.Nodes {
		n := &info.Nodes[i]
		for _, u := range info.Uses() {
			if !bytes.Equal(u.NodeID, n.NodeID) {
				continue
			}
			fmt.Fprintf(out, "  %s  %s  %s%s\n    %s, %s, %s, %s in the store\n", hex.EncodeToString(n.NodeID), n.Name, stateOf(n), draining(n, now),
				count(u.Jobs, "job"), count(u.Workers, "worker"), count(u.Actors, "actor"), count(u.Store.Objects, "object"))
			for _, name := range sortedKeys(n.Labels) {
				fmt.Fprintf(out, "    label %s=%s\n", name, n.Labels[name])
			}
			for _, name := range sortedKeys(u.Resources) {
				fmt.Fprintf(out, "    %-20s %s / %s\n", name, amount(name, usedOf(u, name)), amount(name, u.Resources[name]))
			}
			for _, name := range sortedKeys(u.Pending) {
				fmt.Fprintf(out, "    waits: %s %d\n", name, u.Pending[name])
			}
		}
	}
}
