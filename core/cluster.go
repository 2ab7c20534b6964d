package core

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// unit is how many wire units a resource of 1 has.
const unit = 10000

// Node is one machine of the cluster.
type Node struct {
	ID        string // in hex
	Alive     bool
	Head      bool
	Address   string
	Hostname  string
	Resources map[string]float64 // declared
	Available map[string]float64 // not held by a task or an actor now
	Labels    map[string]string
}

// Resources returns the declared resources of all nodes together. Memory is in bytes.
func (s *Session) Resources(ctx context.Context) (map[string]float64, error) {
	info, err := s.cluster(ctx, wire.ClusterAsk{})
	return amounts(info.ClusterTotals()), err
}

// AvailableResources returns what no task or actor holds now, of all nodes together. Memory is in bytes. What is free on a
// node that does not answer within two seconds is left out.
func (s *Session) AvailableResources(ctx context.Context) (map[string]float64, error) {
	info, err := s.cluster(ctx, wire.ClusterAsk{Use: true})
	return amounts(info.ClusterAvailable()), err
}

// Nodes returns the machines of the cluster.
func (s *Session) Nodes(ctx context.Context) ([]Node, error) {
	info, err := s.cluster(ctx, wire.ClusterAsk{Use: true})
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, len(info.Nodes))
	for i, n := range info.Nodes {
		nodes[i] = Node{ID: hex.EncodeToString(n.NodeID), Alive: n.Alive, Head: n.IsHead, Address: n.Address, Hostname: n.Hostname,
			Resources: amounts(n.Resources), Available: amounts(n.Available), Labels: n.Labels}
	}
	return nodes, nil
}

func (s *Session) cluster(ctx context.Context, q wire.ClusterAsk) (info wire.ClusterInfo, err error) {
	if err = s.c.Ask(ctx, wire.TClusterInfo, q, &info); err != nil {
		err = fmt.Errorf("ask for nodes and resources: %w", err)
	}
	return info, err
}

func amounts(units map[string]int64) map[string]float64 {
	out := make(map[string]float64, len(units))
	for n, a := range units {
		out[n] = float64(a) / unit
	}
	return out
}
