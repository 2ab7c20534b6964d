package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/deathtext"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/releases"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// unknownWait is how long an actor may stay unknown. A handle can be sent from process to
// process faster than the creation of its actor reaches the head.
const unknownWait = 2 * time.Second

// findActor is what a process wants that asks for an actor's address.
const findActor = "find an actor"

// resolve serves TActorResolve.
func (d *Daemon) resolve(_ context.Context, c *client, m *wire.Message) error {
	var q wire.ActorResolve
	id, err := decodeActor(m, &q, &q.ActorID)
	if err == nil {
		d.resolveActor(c, m, id, q.After)
	}
	return err
}

// resolveActor answers when the actor has an address, or is dead.
func (d *Daemon) resolveActor(c *client, m *wire.Message, id ids.Actor, after uint64) {
	c.pending.Begin(func(answered func()) func() {
		cancel := d.head.Resolve(id, after, unknownWait, func(r record.Resolution, err error) {
			if err != nil {
				_ = m.Fail(inquiry.Unanswered(findActor, inquiry.Patience, err))
			} else if err := d.mayCall(&r); err != nil {
				_ = m.Fail(fmt.Errorf("call actor %s: %w", r.Actor.ID, err))
			} else {
				_ = m.Reply(d.actorState(&r))
			}
			answered()
		})
		return func() { cancel() }
	})
}

// actorState returns what a process is told that has asked for an actor's address.
func (d *Daemon) actorState(r *record.Resolution) wire.ActorState {
	s := wire.ActorState{State: string(r.State), Incarnation: r.Actor.Incarnation, Message: r.Message}
	switch r.State {
	case record.ActorAlive:
		s.Addr, s.Pid, s.NodeID, s.WorkerID = r.Actor.Address, r.Actor.Pid, r.Actor.Node[:], r.Actor.Worker[:]
		s.Unregistered = r.Actor.LateRefs
	case record.ActorDead:
		s.Message = deathtext.Of(&r.Actor, d.addressOf(&r.Actor))
		s.Cause, s.Error = string(r.Actor.Cause.Fault()), r.Actor.Cause.Error
	}
	return s
}

// mayCall returns why processes of this node cannot call an actor, nil if they can.
func (d *Daemon) mayCall(r *record.Resolution) error {
	o, err := wire.ParseAddress(r.Actor.Address)
	if r.State != record.ActorAlive || err != nil {
		return nil
	}
	return d.talksWith(o.Node())
}

// talksWith returns why processes of this node do not talk to those of another one, nil if they do.
func (d *Daemon) talksWith(node uint32) error {
	if node == d.o.Number || d.o.NodeOf == nil {
		return nil
	}
	n, _ := d.o.NodeOf(node) // the release of a node that is not known is not known either
	return releases.Talks(&n)
}
