package client

import (
	"slices"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/planted"
	"github.com/eagleray/eagleray/core/wire"
)

// brokenConn is a connection to an actor that broke.
type brokenConn struct {
	num uint32
}

// actorLost: the actor's socket broke. Nothing newer is sent before it is known
// what became of the calls that it had: what is sent again goes first.
func (c *submitter) actorLost(a *actor, o *outConn, sent []*task) {
	if a.conn == o {
		a.conn = nil
	}
	if c.closed {
		return
	}
	a.broken, a.sent = &brokenConn{o.num}, sent
	for _, t := range sent {
		t.on = nil
	}
	if a.dead != nil {
		a.broken = nil
		c.failSent(a)
		return
	}
	if len(sent) > 0 || a.queue.len() > 0 {
		c.resolve(a)
		a.waits(c.looks)
		c.watchPending()
	}
}

// askFate asks what became of the incarnation whose socket broke, and which
// calls it had begun; mu held.
func (c *submitter) askFate(a *actor) {
	a.asking = true
	q := wire.ActorLost{ActorID: a.id[:], Incarnation: a.inc, Conn: a.broken.num}
	c.fx.Request(wire.TActorLost, q, func(m *wire.Message, err error) {
		var f wire.ActorDeath
		if err == nil {
			err = m.Decode(&f)
		}
		a.asking = false
		if !c.closed {
			c.fateKnown(a, &f, err)
		}
	})
}

// fateKnown divides the calls that a dead incarnation had: those that had begun
// are tried again if their retries allow, the others are sent as if never sent;
// mu held.
func (c *submitter) fateKnown(a *actor, f *wire.ActorDeath, err error) {
	if err != nil || f.State == wire.ActorDead {
		died := diedFault(f)
		if err != nil {
			died = fault.From(err)
		}
		a.broken = nil
		c.actorDead(a, died, f.Error)
		return
	}
	sent := a.sent
	a.broken, a.sent = nil, nil
	var again []*task
	for _, t := range sent {
		why := notBegun
		if !f.Known || int32(t.seq-f.Started) <= 0 {
			why = actorDied
		}
		switch v := c.retry(t, why); v.refusal {
		case permitted:
			again = append(again, t)
		case cancelled:
			c.failTask(t, cancelFault(t))
		default:
			c.failTask(t, unavailableFault(f))
		}
	}
	if len(again) > 1 && planted.Strikes(planted.WrongOrder) {
		slices.Reverse(again)
	}
	a.queue.pushFront(again)
	if f.State == wire.ActorAlive {
		a.inc-- // the same one again
	}
	if a.queue.len() > 0 {
		c.resolve(a)
	}
}

// forgetSent takes a call that is cancelled off those whose fate is not known.
func (a *actor) forgetSent(t *task) {
	a.sent = slices.DeleteFunc(a.sent, func(x *task) bool { return x == t })
}

// diedFault is what calls of a dead actor fail with.
func diedFault(f *wire.ActorDeath) *fault.Error {
	died := fault.New(fault.ActorDied, "%s", f.Message)
	if f.Cause != "" {
		died.Code = fault.Code(f.Cause)
	}
	return died
}

// unavailableFault is what calls fail with that an incarnation had begun which
// is followed by another. One that took too much memory is told as that, as
// the last one's end is.
func unavailableFault(f *wire.ActorDeath) *fault.Error {
	switch code := fault.Code(f.Cause); code {
	case fault.OutOfMemory, fault.GPUMemoryExceeded:
		return fault.New(code, "%s", f.Message)
	}
	return fault.New(fault.ActorUnavailable, "%s", f.Message)
}
