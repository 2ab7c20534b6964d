package nodeprocess

import (
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/record"
)

// placer gives the daemon's methods the head's types, where both are one process.
type placer struct{ d *daemon.Daemon }

func (p placer) PlaceActor(a record.Actor) { p.d.PlaceActor(a, 0) }

func (p placer) StopActor(i record.Instance, how head.Stop) {
	p.d.StopActor(i, how == head.StopDrain)
}
