package daemon

import (
	"context"

	"github.com/eagleray/eagleray/core/internal/actorends"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// actorLost serves TActorLost. The answer is sent when the incarnation has ended and its
// process is gone, or when the incarnation lives on.
func (d *Daemon) actorLost(_ context.Context, c *client, m *wire.Message) error {
	var q wire.ActorLost
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		return err
	}
	c.pending.Begin(func(answered func()) func() {
		caller := progress.Caller{Owner: c.self.Owner(), Conn: q.Conn}
		return d.ends.Ask(d.head, m, actorends.ID{Actor: id, Incarnation: q.Incarnation}, caller, answered).Cancel
	})
	return nil
}

// takesCalls reports whether an incarnation runs on this node and takes calls, and its process.
func (d *Daemon) takesCalls(id actorends.ID) (pid int, alive bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.actors[id.Actor]
	if a == nil || a.rec.Incarnation != id.Incarnation || a.endReported || a.worker == nil || !a.worker.Serves() {
		return 0, false
	}
	return a.worker.Pid(), true
}

// addressOf returns the address of the node on which an actor runs, or has run.
func (d *Daemon) addressOf(a *record.Actor) string {
	for _, i := range []record.Instance{a.Instance(), a.Previous} {
		if o, err := wire.ParseAddress(i.Address); err == nil && o.Node() != d.o.Number && d.o.NodeOf != nil {
			n, _ := d.o.NodeOf(o.Node())
			return n.Address
		} else if err == nil {
			break
		}
	}
	return d.o.Address
}
