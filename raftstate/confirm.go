package raftstate

import (
	"fmt"

	"github.com/eagleray/eagleray/core/record"
)

// Confirm commits an entry that changes nothing. When it returns without an error, this member led after Confirm was called, and a
// majority of the members has the entry on disk. It costs one write.
func (n *Node) Confirm() error {
	if !n.enter() {
		return fmt.Errorf("confirm the leadership: %w", record.ErrClosed)
	}
	defer n.inside.Done()
	if err := n.raft.Barrier(0).Error(); err != nil {
		return fmt.Errorf("confirm the leadership: %w", err)
	}
	return nil
}
