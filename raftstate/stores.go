package raftstate

import (
	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/raftstate/internal/memory"
)

// Stores are where raft keeps its things. All three or none.
type Stores struct {
	Log       raft.LogStore
	Stable    raft.StableStore
	Snapshots raft.SnapshotStore
	Guard     Guard // nil: the stores do not fail
}

// HasState reports whether a member has worked with the stores already.
func HasState(s Stores) (bool, error) { return raft.HasExistingState(s.Log, s.Stable, s.Snapshots) }

// Guard watches over stores on a disk. The member stops when it has failed.
type Guard interface {
	// Failed is closed when a write has failed. Nothing is stored any more.
	Failed() <-chan struct{}
	// Err says why, for whoever runs the member.
	Err() error
}

// NewMemoryStores returns stores that live as long as the process.
func NewMemoryStores() Stores {
	return Stores{Log: memory.NewLog(), Stable: memory.NewStable(), Snapshots: &memory.Snapshots{}}
}
