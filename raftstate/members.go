package raftstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// Member is one of the heads, as raft knows it.
type Member struct {
	ID      string // as in Options.ID
	Address string // as the transport knows it
	Voter   bool   // else a standby: it has the log, and its vote does not count
}

// memberLimit is how long a change of the members may wait to be taken up by raft.
const memberLimit = 10 * time.Second

// ErrNoMember says that no head has the id.
var ErrNoMember = errors.New("no such head")

// Members returns the members in raft's order, as of the newest change that this member knows. It may not be committed yet.
func (n *Node) Members() (list []Member) {
	for _, s := range n.raft.GetConfiguration().Configuration().Servers {
		list = append(list, Member{ID: string(s.ID), Address: string(s.Address), Voter: s.Suffrage == raft.Voter})
	}
	return list
}

// Voters returns how many members have a vote.
func (n *Node) Voters() (count int) {
	for _, m := range n.Members() {
		if m.Voter {
			count++
		}
	}
	return count
}

// Self is this member's id.
func (n *Node) Self() string { return n.opts.ID }

// Indexes returns the last index that this member has stored, and the last one that its state shows.
func (n *Node) Indexes() (stored, applied uint64) { return n.raft.LastIndex(), n.raft.AppliedIndex() }

// AddStandby adds a member without a vote. One that is there already, with or without a vote, stays as it is.
func (r *Reign) AddStandby(ctx context.Context, id, address string) error {
	for _, m := range r.Members() {
		if m.ID == id && m.Address == address {
			return r.Confirm()
		}
	}
	return r.change(ctx, "add head "+id, func() raft.Future {
		return r.raft.AddNonvoter(raft.ServerID(id), raft.ServerAddress(address), 0, memberLimit)
	})
}

// Promote gives a member a vote.
func (r *Reign) Promote(ctx context.Context, id string) error {
	for _, m := range r.Members() {
		if m.ID == id {
			return r.change(ctx, "give head "+id+" a vote", func() raft.Future {
				return r.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(m.Address), 0, memberLimit)
			})
		}
	}
	return fmt.Errorf("give head %s a vote: %w", id, ErrNoMember)
}

// Demote takes a member's vote.
func (r *Reign) Demote(ctx context.Context, id string) error {
	return r.change(ctx, "take the vote of head "+id, func() raft.Future { return r.raft.DemoteVoter(raft.ServerID(id), 0, memberLimit) })
}

// Remove removes a member. A leader that removes itself leads no more when that is committed.
func (r *Reign) Remove(ctx context.Context, id string) error {
	return r.change(ctx, "remove head "+id, func() raft.Future { return r.raft.RemoveServer(raft.ServerID(id), 0, memberLimit) })
}

// TransferTo makes another voter the leader. With an empty id raft chooses one.
func (r *Reign) TransferTo(ctx context.Context, id string) error {
	if id == "" {
		return r.change(ctx, "let another head lead", func() raft.Future { return r.raft.LeadershipTransfer() })
	}
	for _, m := range r.Members() {
		if m.ID == id {
			return r.change(ctx, "let head "+id+" lead", func() raft.Future {
				return r.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(m.Address))
			})
		}
	}
	return fmt.Errorf("let head %s lead: %w", id, ErrNoMember)
}

// change waits for a change of the members until the context ends.
func (r *Reign) change(ctx context.Context, what string, begin func() raft.Future) error {
	if !r.enter() {
		return fmt.Errorf("%s: %w", what, ErrDeposed)
	}
	done := make(chan error, 1)
	go func() {
		defer r.inside.Done()
		done <- begin().Error()
	}()
	select {
	case err := <-done:
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipLost) {
			return fmt.Errorf("%s: %w: %w", what, ErrDeposed, err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
}
