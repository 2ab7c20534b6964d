package packing

import (
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// This file has what a node and its head say to each other about bundles, whoever carries it.

// Bundles are bundles of a placement group that a node is to set aside together.
type Bundles struct {
	Group  ids.Group
	Name   string // in messages
	Epoch  uint64 // of the request: what was asked for in an earlier one is dropped
	Index  []int
	Needs  []resource.Set
	Ticket uint64        // of the head's order; 0: there is no such order
	For    time.Duration // how long the request may wait on the node; 0: as long as it takes
}

// Prepared says that a node has set the bundles of a request aside, or that it has not and they do not wait any more.
type Prepared struct {
	Group  ids.Group
	Epoch  uint64
	N      int // how many they are
	Ticket uint64
	OK     bool
}

// Kept are bundles of one request that a node has, or that wait there.
type Kept struct {
	Group  ids.Group
	Epoch  uint64
	Ticket uint64
	Index  int // of one of them
	Open   bool
}

func (a Prepared) String() string {
	if !a.OK {
		return fmt.Sprintf("refuse bundles of %s#%d, ticket %d", a.Group, a.Epoch, a.Ticket)
	}
	return fmt.Sprintf("prepared bundles of %s#%d, ticket %d", a.Group, a.Epoch, a.Ticket)
}
