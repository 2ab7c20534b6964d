package raftstate

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// follow notes which member leads, and compacts the log when it is long.
func (n *Node) follow(observed <-chan raft.Observation) {
	defer close(n.done)
	failed, unstorable := n.fsm.failed, n.unstorable
	for {
		select {
		case leading := <-n.raft.LeaderCh():
			n.rule(leading)
		case <-observed:
			n.leaderChanged()
		case <-n.fsm.compact:
			n.compact()
		case <-failed:
			// To go on would mean to compute another state than the others. They elect a
			// leader that knows the command; watchers and proposers of this member get an error.
			failed, unstorable = nil, nil
			n.giveUp()
		case <-unstorable:
			failed, unstorable = nil, nil
			n.giveUp()
		case <-n.stop:
			n.endReign()
			return
		}
	}
}

// giveUp stops a member that cannot go on. Close is still to be called.
func (n *Node) giveUp() {
	n.rule(false)
	n.fsm.ring.Close()
	_ = n.halt()
	n.leaderChanged()
	close(n.failed)
}

// compact takes a snapshot, which shortens the log. It may take long, so it
// runs beside follow.
func (n *Node) compact() {
	if !n.enter() {
		return
	}
	go func() {
		defer n.inside.Done()
		// There is nothing new, or the configuration is being changed: the next call tries again.
		_ = n.raft.Snapshot().Error()
	}()
}

// Leader returns the id of the leader that this member knows, "" for none.
func (n *Node) Leader() string {
	_, id := n.raft.LeaderWithID()
	return string(id)
}

// leaderChanged wakes the callers that wait for a leader.
func (n *Node) leaderChanged() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leader != nil {
		close(n.leader)
		n.leader = nil
	}
}

// LeaderChanged returns a channel that is closed when the leader changes, as far as this member knows. It is taken before Leader is called.
func (n *Node) LeaderChanged() <-chan struct{} { return n.leaderWake() }

// Term is Raft's present term.
func (n *Node) Term() uint64 { return n.raft.CurrentTerm() }

// leaderWake returns a channel that is closed when the leader changes. A caller takes the
// channel before it looks who leads.
func (n *Node) leaderWake() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leader == nil {
		n.leader = make(chan struct{})
	}
	return n.leader
}

// WaitLeader waits until this member knows a leader.
func (n *Node) WaitLeader(ctx context.Context) error {
	for {
		wake := n.leaderWake()
		if n.Leader() != "" {
			return nil
		}
		select {
		case <-wake:
		case <-n.stop:
			return record.ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("wait for a leader: %w", ctx.Err())
		}
	}
}
