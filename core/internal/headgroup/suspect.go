package headgroup

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

const (
	probeLimit = 300 * time.Millisecond // in which a machine says that nobody listens there
	probePause = 5 * time.Millisecond   // a process that ends may take a connection and break it at once
	underWay   = 3                      // turns that an election takes at most which has begun already
	turn       = 60 * time.Millisecond  // between the candidacies of two followers: an election takes some milliseconds
)

// suspect is called when a connection from another head has ended. If that head leads and its process is gone, this one stands for election
// when it is its turn. A candidate that lacks the newest entries is not elected; then the next one stands. The request of an earlier candidate may come before
// the end of the connection: then nobody leads any more, the latest leader counts, and the election under way comes first. A leader that stops hands over in the same way.
func (g *Group) suspect(from uint32) {
	leader, turns := g.state.Leader(), 0
	if latest := g.led.Load(); leader == "" && latest != nil {
		leader, turns = *latest, underWay
	}
	number, known := g.o.Book.Number(leader)
	if !known || number != from || !g.suspects.begin(from) {
		return
	}
	defer g.suspects.end(from)
	if !g.gone(from) {
		return
	}
	place, votes := g.turnAfter(leader)
	if !votes || !g.awaitTurn(leader, turns+place) {
		return
	}
	g.o.Log.Info("the head that led is gone: standing for election", "head", from)
	stand := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.o.ID), Addr: []byte(g.o.ID)}}
	answer := make(chan raft.RPCResponse, 1)
	select {
	case g.transport.rpcs <- raft.RPC{Command: stand, RespChan: answer}:
	case <-g.ctx.Done():
	}
}

// awaitTurn waits until it is this head's turn to stand for election after a leader. It reports false if another head leads by then.
func (g *Group) awaitTurn(leader string, turns int) bool {
	timer := time.NewTimer(time.Duration(turns) * turn)
	defer timer.Stop()
	for {
		changed := g.state.LeaderChanged()
		if now := g.state.Leader(); now != leader && now != "" {
			return false
		}
		select {
		case <-timer.C:
			now := g.state.Leader()
			return now == leader || now == ""
		case <-changed: // another one stands, or is elected
		case <-g.ctx.Done():
			return false
		}
	}
}

// gone reports whether the machine of a head says that nobody listens at its addresses.
func (g *Group) gone(number uint32) bool {
	ctx, cancel := context.WithTimeout(g.ctx, probeLimit)
	defer cancel()
	for {
		c, err := g.o.Dial(ctx, number)
		if err == nil {
			c.Close()
			return false
		}
		if errors.Is(err, unix.ECONNREFUSED) {
			return true
		}
		select {
		case <-time.After(probePause):
		case <-ctx.Done():
			return false
		}
	}
}

// suspects are the heads that are suspected to be gone. Several connections of a process end together.
type suspects struct {
	mu  sync.Mutex
	are map[uint32]bool
}

// begin reports whether a head was not suspected so far.
func (s *suspects) begin(number uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.are[number] {
		return false
	}
	if s.are == nil {
		s.are = map[uint32]bool{}
	}
	s.are[number] = true
	return true
}

func (s *suspects) end(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.are, number)
}

// turnAfter returns the place of this head among the voters besides the leader, and whether it is one.
func (g *Group) turnAfter(leader string) (place int, votes bool) {
	var voters []string
	for _, m := range g.state.Members() {
		if m.Voter && m.ID != leader {
			voters = append(voters, m.ID)
		}
	}
	slices.Sort(voters)
	place = slices.Index(voters, g.o.ID)
	return place, place >= 0
}
