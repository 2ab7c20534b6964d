package headgroup

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// A leader whose disk does not answer commits nothing. Raft waits for the disk in one goroutine and sends heartbeats in others, so it would lead for ever
// (hashicorp/raft, issue 683). So this head says nothing to the others that a leader says, while a write takes too long. They elect another one, whose first
// heartbeat tells this one that it leads no more. When the disk answers again, it follows.

// errStalled is what Raft gets instead of an answer.
var errStalled = errors.New("the disk of this head does not answer, so it says nothing as the leader")

// stall knows whether the disk answers.
type stall struct {
	is  func() bool
	log *slog.Logger
	was atomic.Bool
}

// check returns errStalled while the disk does not answer.
func (s *stall) check() error {
	now := s.is()
	if s.was.CompareAndSwap(!now, now) {
		if now {
			s.log.Warn("the disk with the state of this head does not answer: if this head leads, another one takes over")
		} else {
			s.log.Info("the disk with the state of this head answers again")
		}
	}
	if now {
		return errStalled
	}
	return nil
}

// stalled reports whether a write of this head takes too long.
func (g *Group) stalled() bool { return g.o.Stalled != nil && g.o.Stalled() }

// AppendEntriesPipeline implements raft.Transport.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, to raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, to)
	if err != nil {
		return nil, err
	}
	return &pipeline{p, &t.stall}, nil
}

// pipeline sends entries without waiting for answers.
type pipeline struct {
	raft.AppendPipeline
	stall *stall
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	if err := p.stall.check(); err != nil {
		return nil, err
	}
	return p.AppendPipeline.AppendEntries(args, answer)
}
