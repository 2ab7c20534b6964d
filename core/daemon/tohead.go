package daemon

import (
	"errors"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/wire"
)

// toHead serves a request that the head role answers, on the process's queue.
func (d *Daemon) toHead(c *client, m *wire.Message) {
	switch m.Type {
	case wire.TJobStart:
		d.startJob(c, m)
	case wire.TJobEnd:
		d.jobEnd(c, m)
	case wire.TActorCreate:
		d.createActor(c, m)
	case wire.TActorResolve:
		d.resolveActor(c, m, time.Now().Add(unknownWait))
	case wire.TActorLost:
		d.actorLost(c, m)
	default:
		reply, err := d.ask(c, m)
		if err != nil {
			_ = m.Fail(err)
			return
		}
		_ = m.Reply(reply)
	}
}

// ask serves what is one question to the head.
func (d *Daemon) ask(c *client, m *wire.Message) (any, error) {
	ctx, cancel := d.headContext()
	defer cancel()
	switch m.Type {
	case wire.TActorKill:
		return d.killActor(m)
	case wire.TActorRelease:
		var q wire.ActorRef
		id, err := decodeActor(m, &q, &q.ActorID)
		if err == nil {
			err = d.mayRelease(c, id)
		}
		if err == nil {
			d.head.ReleaseActor(id)
		}
		return nil, err
	case wire.TActorByName:
		var q wire.ActorByName
		if err := m.Decode(&q); err != nil {
			return nil, err
		}
		a, err := d.head.GetNamed(q.Namespace, q.Name)
		if err != nil {
			return nil, err
		}
		return wire.ActorNamed{ActorID: a.ID[:], Meta: a.Meta}, nil
	case wire.TActorNames:
		var q wire.ActorNames
		if err := m.Decode(&q); err != nil {
			return nil, err
		}
		names := []wire.ActorName{}
		for _, n := range d.head.ListNamed(q.Namespace, q.All) {
			names = append(names, wire.ActorName{Name: n.Name, Namespace: n.Namespace})
		}
		return names, nil
	case wire.TCodePart, wire.TCodeGet, wire.TCodeDrop:
		return d.code(ctx, c, m)
	case wire.TKVPut:
		var q wire.KVPut
		if err := m.Decode(&q); err != nil {
			return nil, err
		}
		return d.head.PutKV(ctx, q.Namespace, string(q.Key), q.Value, q.Overwrite)
	case wire.TClusterInfo:
		d.awaitMemory(nil)
		return d.clusterInfo(), nil
	}
	var q wire.KVKey
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	switch m.Type {
	case wire.TKVGet:
		v, ok := d.head.GetKV(q.Namespace, string(q.Key))
		if !ok {
			return nil, nil
		}
		if v == nil {
			v = []byte{}
		}
		return v, nil
	case wire.TKVDel:
		return d.head.DelKV(ctx, q.Namespace, string(q.Key), q.Prefix)
	case wire.TKVKeys:
		keys := [][]byte{}
		for _, k := range d.head.KVKeys(q.Namespace, string(q.Key)) {
			keys = append(keys, []byte(k))
		}
		return keys, nil
	}
	return nil, fault.New(fault.BadRequest, "%s is not for a head", m.Type)
}

// unknownWait is how long an actor may stay unknown: a handle can reach its
// user, from process to process, before the creation has reached the head.
// Between two looks lies unknownPause.
const (
	unknownWait  = 2 * time.Second
	unknownPause = 5 * time.Millisecond
)

// resolveActor answers when the actor's fate is known.
func (d *Daemon) resolveActor(c *client, m *wire.Message, until time.Time) {
	var q wire.ActorResolve
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		_ = m.Fail(err)
		return
	}
	d.mu.Lock()
	c.lastResolve++
	n := c.lastResolve
	d.mu.Unlock()
	answered := make(chan struct{})
	cancel, err := d.head.Resolve(id, q.After, func(r Resolution) {
		s := wire.ActorState{State: r.State, Incarnation: r.Actor.Incarnation, Message: r.Message}
		switch r.State {
		case wire.ActorAlive:
			s.Addr, s.Pid, s.NodeID, s.WorkerID = r.Actor.Address, r.Actor.Pid, r.Actor.Node[:], r.Actor.Worker[:]
			s.Unsettled = d.registersLate(&r.Actor)
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

// killActor answers when what the caller sends next cannot reach the killed
// incarnation. When the actor is dead the caller knows that by the answer, which
// says so, and comes as soon as the process was sent the signal. When it
// restarts, the answer comes when the process is gone.
func (d *Daemon) killActor(m *wire.Message) (any, error) {
	var q wire.ActorKill
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	var gone chan struct{}
	if a := d.actors[id]; a != nil && a.worker != nil && a.worker.Process() != nil {
		gone = a.worker.Process().Gone
	}
	d.mu.Unlock()
	ctx, cancel := d.headContext()
	defer cancel()
	if err := d.head.KillActor(ctx, id, q.NoRestart); err != nil {
		return nil, err
	}
	if q.NoRestart {
		d.mu.Lock()
		if a := d.actors[id]; a != nil && a.worker != nil { // else the head sees to it
			d.endNow(a)
		}
		d.mu.Unlock()
		return d.deadFate(id), nil
	}
	if gone != nil {
		select {
		case <-gone:
		case <-time.After(killPatience):
		}
	}
	return nil, nil
}

// resolved forgets how to cancel a question that was answered.
func (d *Daemon) resolved(c *client, n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(c.cancels, n)
}

func decodeActor(m *wire.Message, q any, raw *[]byte) (id ids.Actor, err error) {
	if err := m.Decode(q); err != nil {
		return id, err
	}
	if len(*raw) != ids.ActorSize {
		return id, fault.New(fault.BadRequest, "%s: an actor id has %d bytes, not %d", m.Type, ids.ActorSize, len(*raw))
	}
	return ids.Actor(*raw), nil
}
