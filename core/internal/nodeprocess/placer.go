package nodeprocess

import (
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// placer gives the daemon's methods the head's types, where both are one process.
type placer struct {
	d     *daemon.Daemon
	state *raftstate.Node
}

// PlaceActor implements head.Placer. An exclusive actor waits until the process of the incarnation before is gone.
func (p placer) PlaceActor(a record.Actor) {
	if !a.Exclusive || a.Previous.Incarnation == 0 {
		p.d.PlaceActor(a, 0)
		return
	}
	place := func() {
		if now, known := p.state.Actor(a.ID); known && now.Live() && now.Incarnation == a.Incarnation {
			p.d.PlaceActor(a, 0)
		}
	}
	// The one before may be one that was never placed, and the one before that may still be ending.
	p.d.EndActor(a.Previous, func() { p.d.EndActor(a.Fence, place) })
}

func (p placer) StopActor(i record.Instance, how head.Stop) {
	p.d.StopActor(i, how == head.StopDrain)
}
