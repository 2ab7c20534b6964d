package headprocess

import (
	"context"
	"errors"
	"log/slog"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// nodePlacer has the nodes of the cluster start and stop actors. Which node starts an actor is decided by headlink.Server.
type nodePlacer struct {
	server *headlink.Server
	state  *raftstate.Node
	log    *slog.Logger
}

func (p *nodePlacer) PlaceActor(a record.Actor) {
	at := p.numberOf(a.Node)
	if at == 0 && a.Node != (ids.Node{}) {
		return // its node is dead: the head ends this incarnation
	}
	p.server.PlaceActor(&a, at)
}

func (p *nodePlacer) StopActor(i record.Instance, how head.Stop) {
	if i.Node == (ids.Node{}) {
		if a, known := p.state.Actor(i.Actor); known {
			for _, o := range []record.Instance{a.Instance(), a.Previous} {
				if o.Incarnation == i.Incarnation {
					i.Node = o.Node
				}
			}
		}
	}
	if err := p.server.StopActor(p.numberOf(i.Node), i, how == head.StopDrain); err != nil {
		p.log.Error("an actor cannot be stopped", "actor", i.Actor, "node", i.Node, "error", err)
	}
}

// numberOf returns the number of a node that is not dead, else 0.
func (p *nodePlacer) numberOf(id ids.Node) uint32 {
	if id == (ids.Node{}) {
		return 0
	}
	if n, known := p.state.Node(id); known && n.State != record.NodeDead {
		return n.Number
	}
	return 0
}

// eachDeadNode calls a function for every node that is dead or dies, perhaps several times for one, until the context ends.
func eachDeadNode(ctx context.Context, state *raftstate.Node, do func(record.Node)) error {
	for {
		from := state.Now()
		for _, n := range state.ListNodes() {
			if n.State == record.NodeDead {
				do(n)
			}
		}
		for {
			batch, err := state.Watch(ctx, from)
			if errors.Is(err, record.ErrCompacted) {
				break
			}
			if err != nil {
				return err
			}
			for _, e := range batch.Events {
				if e.Node != nil && e.Node.State == record.NodeDead {
					do(*e.Node)
				}
			}
			from = batch.Next
		}
	}
}
