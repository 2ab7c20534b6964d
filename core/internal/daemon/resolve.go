package daemon

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// unknownWait is how long an actor may stay unknown. A handle can be sent from process to
// process faster than the creation of its actor reaches the head. The head is asked again
// every unknownPause.
const (
	unknownWait  = 2 * time.Second
	unknownPause = 5 * time.Millisecond
)

// resolve serves TActorResolve.
func (d *Daemon) resolve(c *client, m *wire.Message) {
	d.resolveActor(c, m, time.Now().Add(unknownWait))
}

// resolveActor answers when the actor has an address, or is dead.
func (d *Daemon) resolveActor(c *client, m *wire.Message, until time.Time) {
	var q wire.ActorResolve
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	n := d.nextQuestion(c)
	answered := make(chan struct{})
	cancel, err := d.head.Resolve(id, q.After, func(r Resolution) {
		s := wire.ActorState{State: r.State, Incarnation: r.Actor.Incarnation, Message: r.Message}
		switch r.State {
		case wire.ActorAlive:
			s.Addr, s.Pid, s.NodeID, s.WorkerID = r.Actor.Address, r.Actor.Pid, r.Actor.Node[:], r.Actor.Worker[:]
			s.Unregistered = d.hasLateRefs(&r.Actor)
		case wire.ActorDead:
			s.Message = d.deathText(&r.Actor)
			s.Cause, s.Error = string(r.Actor.Cause.Fault()), r.Actor.Cause.Error
		}
		_ = m.Reply(s)
		close(answered)
		go d.resolved(c, n)
	})
	if errors.Is(err, record.ErrNotFound) && time.Now().Before(until) {
		time.AfterFunc(unknownPause, func() { c.tasks.add(func() { d.resolveActor(c, m, until) }) })
		return
	}
	if err != nil {
		_ = m.Fail(err)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-answered:
		return
	default:
	}
	if c.gone {
		go cancel()
		return
	}
	if c.cancels == nil {
		c.cancels = make(map[uint64]func())
	}
	c.cancels[n] = cancel
}

// nextQuestion returns the number of the next question of a process to the head.
func (d *Daemon) nextQuestion(c *client) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.lastResolve++
	return c.lastResolve
}

// resolved drops the cancel function of a question that was answered.
func (d *Daemon) resolved(c *client, n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(c.cancels, n)
}
