package headprocess

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/headlink"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// nodePlacer has the nodes of the cluster start and stop actors. Which node starts an actor is decided by headlink.Server.
type nodePlacer struct {
	ctx    context.Context // ends with the leadership
	reign  *raftstate.Reign
	server *headlink.Server
	state  *raftstate.Node
	log    *slog.Logger
	pauses pauses
}

func (p *nodePlacer) PlaceActor(a record.Actor) {
	pause := p.pauses.before(&a, func(id ids.Actor) bool { b, known := p.state.Actor(id); return known && b.Live() })
	if pause == 0 {
		p.place(a)
		return
	}
	time.AfterFunc(pause, func() {
		if now, known := p.state.Actor(a.ID); known && now.Live() && now.Incarnation == a.Incarnation {
			p.place(now)
		}
	})
}

func (p *nodePlacer) place(a record.Actor) {
	at := p.numberOf(a.Node)
	if at == 0 && a.Node != (ids.Node{}) {
		return // its node is dead: the head ends this incarnation
	}
	if a.Blobs == nil {
		p.server.PlaceActor(&a, at)
		return
	}
	go p.placeWhole(a, at)
}

// blobPause is between two attempts to get a part of an actor's record that other heads have.
const blobPause = time.Second

// placeWhole places an actor when the large parts of its record are here.
func (p *nodePlacer) placeWhole(a record.Actor, at uint32) {
	for said := false; p.ctx.Err() == nil; said = true {
		whole, err := p.state.WholeActor(p.ctx, a)
		if now, known := p.state.Actor(a.ID); !known || !now.Live() || now.Incarnation != a.Incarnation {
			return
		}
		switch {
		case err == nil:
			p.server.PlaceActor(&whole, at)
			return
		case errors.Is(err, record.ErrBlobLost):
			p.log.Error("an actor cannot start", "actor", a.ID, "error", err)
			cause := record.Cause{Reason: record.StartFailed, Message: err.Error()}
			if err := p.reign.ActorDead(p.ctx, a.ID, a.Incarnation, cause, time.Now().UnixMilli()); err == nil {
				return
			}
		case !said:
			p.log.Warn("an actor waits until another head gives a large part of its record", "actor", a.ID, "error", err)
		}
		select {
		case <-time.After(blobPause):
		case <-p.ctx.Done():
		}
	}
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
