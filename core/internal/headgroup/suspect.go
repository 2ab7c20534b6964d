package headgroup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

const (
	probeLimit = 300 * time.Millisecond // in which a machine says that nobody listens there
	turn       = 60 * time.Millisecond  // between the candidacies of two followers: an election takes some milliseconds
)

// suspect is called when a connection from another head has ended. If that head leads and its process is gone, this one stands for election
// when it is its turn.
func (g *Group) suspect(from uint32) {
	leader := g.state.Leader()
	number, known := g.o.Book.Number(leader)
	if !known || number != from || g.ctx.Err() != nil || !g.gone(from) {
		return
	}
	place, votes := g.turnAfter(leader)
	if !votes {
		return
	}
	changed := g.state.LeaderChanged()
	timer := time.NewTimer(time.Duration(place) * turn)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed: // another one stands, or is elected
		return
	case <-g.ctx.Done():
		return
	}
	if g.state.Leader() != leader {
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

// gone reports whether the machine of a head says that nobody listens at its addresses.
func (g *Group) gone(number uint32) bool {
	ctx, cancel := context.WithTimeout(g.ctx, probeLimit)
	defer cancel()
	c, err := g.o.Dial(ctx, number)
	if err == nil {
		c.Close()
		return false
	}
	return errors.Is(err, unix.ECONNREFUSED)
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
