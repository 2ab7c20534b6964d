package headprocess

import (
	"context"
	"errors"
	"log/slog"

	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// nodePlacer places an actor on the node of the process that has created it: that node knows the actor's job.
type nodePlacer struct {
	server *headlink.Server
	state  *raftstate.Node
	log    *slog.Logger
	ready  chan struct{} // closed when head is set
	head   *head.Head
}

func (p *nodePlacer) PlaceActor(a record.Actor) {
	number := a.Owner.Node()
	if dead := p.deadNode(number); dead != nil {
		go p.fail(&a, dead)
		return
	}
	if err := p.server.PlaceActor(number, a); err != nil {
		p.log.Error("an actor cannot be placed", "actor", a.ID, "node", number, "error", err)
	}
}

// deadNode returns the record of the node with that number if it is dead.
func (p *nodePlacer) deadNode(number uint32) *record.Node {
	for _, n := range p.state.ListNodes() {
		if n.Number == number && n.State == record.NodeDead {
			return &n
		}
	}
	return nil
}

// fail ends an actor whose node is dead. The head does not want to be called while it calls.
func (p *nodePlacer) fail(a *record.Actor, n *record.Node) {
	<-p.ready
	p.head.ActorStartFailed(record.Instance{Actor: a.ID, Incarnation: a.Incarnation}, record.Cause{
		Reason:  record.NodeDied,
		Message: "the node " + n.Name + " of the process that has created it is dead (" + n.Reason + "), and actors do not move to other nodes yet",
	})
}

func (p *nodePlacer) StopActor(i record.Instance, how head.Stop) {
	a, known := p.state.Actor(i.Actor)
	if !known || p.deadNode(a.Owner.Node()) != nil {
		return
	}
	if err := p.server.StopActor(a.Owner.Node(), i, how == head.StopDrain); err != nil {
		p.log.Error("an actor cannot be stopped", "actor", i.Actor, "node", a.Owner.Node(), "error", err)
	}
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
