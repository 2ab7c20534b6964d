package raftstate

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// ErrDeposed says that the member does not lead in that term any more. What was proposed may be proposed again by the next leader, or asked of it.
var ErrDeposed = fmt.Errorf("this head leads no more: %w", record.ErrClosed)

// Reign is the time in which a member leads, from the moment when its state shows all that was committed before. What a leader
// decides because of what it has seen (a node is silent, an actor has to start again) is proposed through its Reign: it is applied in its
// term only. So a leader that was stopped for a while, and that others have replaced, cannot change the state with a decision of the past.
type Reign struct {
	*member // the Node; a field of that name would hide the method Node
	Changes // hides those of Node
	ended   chan struct{}
}

type member = Node

// Member returns the member whose reign it is.
func (r *Reign) Member() *Node { return r.member }

// Ended is closed when the member has noticed that it leads no more. Others may lead earlier.
func (r *Reign) Ended() <-chan struct{} { return r.ended }

// Term is Raft's number of this time.
func (r *Reign) Term() uint64 { return r.term }

// Lead waits until this member leads.
func (n *Node) Lead(ctx context.Context) (*Reign, error) {
	for {
		wake := n.leaderWake()
		if r := n.reign.Load(); r != nil {
			return r, nil
		}
		if err := n.Err(); err != nil {
			return nil, err
		}
		select {
		case <-wake:
		case <-n.stop:
			return nil, record.ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until this head leads: %w", ctx.Err())
		}
	}
}

// Reigns returns the time in which this member leads now; nil if it does not.
func (n *Node) Reigns() *Reign { return n.reign.Load() }

// rule begins or ends a reign, as raft says. It is called from follow only.
func (n *Node) rule(leading bool) {
	n.endReign()
	if leading {
		if r, err := n.begin(); err == nil {
			n.reign.Store(r)
		}
	}
	n.fsm.ring.Lead(n.reign.Load() != nil)
	n.leaderChanged()
}

// begin waits until the machine shows all that was committed before this member leads.
func (n *Node) begin() (*Reign, error) {
	r := &Reign{member: n, Changes: Changes{n: n, term: n.raft.CurrentTerm()}, ended: make(chan struct{})}
	return r, r.Confirm()
}

func (n *Node) endReign() {
	if r := n.reign.Swap(nil); r != nil {
		close(r.ended)
	}
}

// reigns reports whether the reign of that term goes on, as far as this member knows.
func (n *Node) reigns(term uint64) bool {
	r := n.reign.Load()
	return r != nil && r.term == term && n.raft.State() == raft.Leader
}

// Confirm is Node.Confirm, and says besides that the member led in the term of this reign.
func (r *Reign) Confirm() error {
	if err := r.member.Confirm(); err != nil {
		return err
	}
	if r.raft.State() != raft.Leader || r.raft.CurrentTerm() != r.term { // the entry was of this term, or of a later one
		return ErrDeposed
	}
	return nil
}
