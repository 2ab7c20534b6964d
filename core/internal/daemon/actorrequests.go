package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/deathtext"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/strategy"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// createActor registers an actor; the head then calls PlaceActor.
func (d *Daemon) createActor(ctx context.Context, c *client, m *wire.Message) (any, error) {
	var q wire.ActorCreate
	if err := m.Decode(&q); err != nil {
		return nil, err
	}
	d.awaitMemory(q.Resources)
	rec, err := d.actorRecord(c, &q)
	if err == nil {
		err = d.mayCreate(c, &rec)
	}
	if err == nil {
		err = d.forOtherNodes(c, &rec)
	}
	if err != nil {
		return nil, err
	}
	for range 3 { // the namesake may die between the two questions
		err = d.head.CreateActor(ctx, rec)
		var taken *record.NameTakenError
		if !q.GetIfExists || !errors.As(err, &taken) {
			break
		}
		old, unknown := d.head.Actor(ctx, taken.Existing)
		switch {
		case unknown == nil && old.Live():
			return wire.ActorCreated{Existing: &wire.ActorNamed{ActorID: old.ID[:], Meta: old.Meta}}, nil
		case unknown != nil && !errors.Is(unknown, record.ErrNotFound):
			return nil, unknown
		}
	}
	if err != nil {
		return nil, err
	}
	d.codeClaimed(c, rec.ID)
	d.endIfOrphaned(&rec)
	return wire.ActorCreated{}, nil
}

// endIfOrphaned has an actor ended that was registered after its owner had died: the head
// was told of that death when it did not know the actor yet.
func (d *Daemon) endIfOrphaned(rec *record.Actor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.owners[rec.Owner] == nil && !rec.Detached && !d.closing {
		d.head.OwnerDied(rec.Owner)
	}
}

// jobOfCreator returns the job of a process that creates an actor. It notes that the job has
// a detached actor, if that actor is one.
func (d *Daemon) jobOfCreator(c *client, q *wire.ActorCreate) (*job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case c.job == nil:
		return nil, fault.New(fault.BadRequest, "actor %s: the process that creates it has no job", q.ClassName)
	case c.job.ended:
		return nil, fmt.Errorf("actor %s: %w", q.ClassName, record.ErrJobEnded)
	}
	c.job.detached = c.job.detached || q.Detached
	return c.job, nil
}

// actorRecord returns the record with which an actor is registered.
func (d *Daemon) actorRecord(c *client, q *wire.ActorCreate) (rec record.Actor, err error) {
	if len(q.ActorID) != ids.ActorSize || len(q.OwnerID) != ids.OwnerSize {
		return rec, fault.New(fault.BadRequest, "actor %s: ids of the wrong length", q.ClassName)
	}
	j, err := d.jobOfCreator(c, q)
	if err != nil {
		return rec, err
	}
	if err := errors.Join(checkAmounts(q.Resources), checkAmounts(q.RunResources), checkFallback(q.Fallback, q.AfterMs)); err != nil {
		return rec, fmt.Errorf("actor %s: %w", q.ClassName, err)
	}
	where, err := strategy.Parse(q.Strategy)
	if err != nil {
		return rec, fault.New(fault.BadRequest, "actor %s: %v", q.ClassName, err)
	}
	kept := actorSpec{Token: q.Token, Spec: q.Spec, Enforce: q.Enforce, Code: [][]byte{q.Code}}
	var fallback []record.Alternative
	for _, o := range q.Fallback {
		kept.Classes, kept.Code = append(kept.Classes, o.Template), append(kept.Code, o.Code)
		fallback = append(fallback, record.Alternative{Resources: groups.Wire(where, o.Resources), RunResources: groups.Wire(where, o.RunResources), ClassName: o.ClassName, MaxConcurrency: o.MaxConcurrency})
	}
	code, err := codeIDs(kept.Code)
	if err != nil {
		return rec, fault.New(fault.BadRequest, "actor %s: %v", q.ClassName, err)
	}
	spec, err := msgpack.Marshal(kept)
	if err != nil {
		return rec, fault.New(fault.BadRequest, "actor %s: %v", q.ClassName, err)
	}
	return record.Actor{
		ID: ids.Actor(q.ActorID), Job: j.ID, Name: q.Name, Namespace: q.Namespace, ClassName: q.ClassName,
		Detached: q.Detached, Owner: ids.Owner(q.OwnerID), OwnerAddr: q.OwnerAddr,
		Resources: groups.Wire(where, q.Resources), RunResources: groups.Wire(where, q.RunResources), Fallback: fallback, AfterMs: q.AfterMs, Strategy: where.Text(), EnvKey: q.EnvKey,
		MaxRestarts: q.MaxRestarts, MaxConcurrency: q.MaxConcurrency, MaxPendingCalls: q.MaxPendingCalls,
		Exclusive: q.Exclusive == wire.Yes, AsCluster: q.Exclusive == wire.Unsaid, Spec: spec, Code: code, Meta: q.Meta, CreatedMs: time.Now().UnixMilli(),
	}, nil
}

// killActor answers when what the caller sends next cannot reach the killed
// incarnation. When the actor is dead the caller knows that by the answer, which
// says so, and comes as soon as the process was sent the signal. When it
// restarts, the answer comes when the process is gone.
func (d *Daemon) killActor(ctx context.Context, _ *client, m *wire.Message) (any, error) {
	var q wire.ActorKill
	id, err := decodeActor(m, &q, &q.ActorID)
	if err != nil {
		return nil, err
	}
	gone := d.processOf(id)
	var before record.Actor
	if gone == nil && !q.NoRestart && d.o.Cluster != nil {
		if before, err = d.head.Actor(ctx, id); err != nil {
			return nil, err
		}
	}
	if err := d.head.KillActor(ctx, id, q.NoRestart); err != nil {
		return nil, err
	}
	if q.NoRestart {
		d.locked(func() {
			if a := d.actors[id]; a != nil && a.worker != nil { // else the head sees to it
				d.endNow(a)
			}
		})
		reply, err := d.deathReplyOf(ctx, id)
		if inquiry.Silent(err) { // the actor is dead, and only the words for it are missing
			err = fmt.Errorf("%w: %w", record.ErrMayHaveBeenApplied, err)
		}
		return reply, err
	}
	if gone != nil {
		select {
		case <-gone:
		case <-time.After(killPatience):
		}
	} else if before.State == record.ActorAlive {
		ctx, cancel := context.WithTimeout(ctx, killPatience)
		defer cancel()
		d.ends.AwaitGone(ctx, before.Instance())
	}
	return nil, nil
}

// deathReplyOf returns what callers of a dead actor are told.
func (d *Daemon) deathReplyOf(ctx context.Context, id ids.Actor) (any, error) {
	a, err := d.head.Actor(ctx, id)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return deathtext.Forgotten(id), nil
	case err != nil:
		return nil, err
	}
	return deathtext.Reply(&a, d.addressOf(&a)), nil
}

// processOf returns the channel that closes when the process of an actor is gone, nil if the
// actor has none here.
func (d *Daemon) processOf(id ids.Actor) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.actors[id]; a != nil && a.worker != nil && a.worker.Process() != nil {
		return a.worker.Process().Gone
	}
	return nil
}

// explainActor says what an actor that does not run waits for; d.mu held.
func (d *Daemon) explainActor(raw []byte) string {
	var id ids.Actor
	copy(id[:], raw)
	a := d.actors[id]
	switch {
	case a == nil && d.o.Cluster != nil:
		return "it is not on this node: it waits for a node that can take it, or another node starts it"
	case a == nil:
		return "it is not placed on this node"
	case a.backoff > 0:
		return fmt.Sprintf("its worker died %d times in a row before its constructor had ended; the next one starts %v after the last", d.failedStarts[id], a.backoff)
	case a.worker != nil:
		return fmt.Sprintf("its constructor runs in worker pid %d", a.worker.Pid())
	}
	return d.m.ExplainActor(a.key())
}

// releasePause is the time until a release is tried again to which the head gave no answer.
const releasePause = time.Second

// releaseActor serves TActorRelease. A process that asks for no answer says it once, and its actor must not
// stay because the head was silent: the daemon tries again while the process lives.
func (d *Daemon) releaseActor(ctx context.Context, c *client, m *wire.Message) (any, error) {
	var q wire.ActorRef
	id, err := decodeActor(m, &q, &q.ActorID)
	if err == nil {
		err = d.mayRelease(ctx, c, id)
	}
	if err == nil {
		d.head.ReleaseActor(id)
	}
	if m.Kind != wire.Request && inquiry.Silent(err) {
		time.AfterFunc(releasePause, func() {
			gone := false
			if d.locked(func() { gone = c.gone }); !gone {
				c.tasks.Add(d.ctx, func(ctx context.Context) { _, _ = d.releaseActor(ctx, c, m) })
			}
		})
	}
	return nil, err
}
