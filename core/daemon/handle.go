package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/objects"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
)

// handle serves one message of a process, on its connection's goroutine. What
// needs the head goes through the process's queue.
func (d *Daemon) handle(c *client, m *wire.Message) {
	switch m.Type {
	case wire.TJobStart, wire.TJobEnd, wire.TActorCreate, wire.TActorResolve, wire.TActorKill, wire.TActorRelease,
		wire.TActorByName, wire.TActorNames, wire.TActorLost, wire.TKVPut, wire.TKVGet, wire.TKVDel, wire.TKVKeys, wire.TClusterInfo,
		wire.TCodePart, wire.TCodeGet, wire.TCodeDrop:
		c.tasks.add(func() {
			select {
			case <-d.headSet:
				d.toHead(c, m)
			case <-d.stop:
				_ = m.Fail(fault.New(fault.Closed, "the daemon is ending"))
			}
		})
	case wire.TObjCreate, wire.TObjReuse, wire.TObjSeal, wire.TObjSealed, wire.TObjPin, wire.TObjPins, wire.TObjUnpin, wire.TObjFree, wire.TObjStats, wire.TObjCheck:
		d.object(c, m)
	case wire.TForget:
		d.passOn(c, m)
	case wire.TCensus:
		go d.answerCensus(m)
	case wire.TFootprint:
		go d.answerFootprint(m)
	case wire.TShutdown:
		if err := mayStop(c); err != nil {
			d.refuse("message refused", err)
			_ = m.Fail(err)
			return
		}
		_ = m.Reply(nil)
		d.log.Info("asked to end", "by", c.pid)
		time.AfterFunc(10*time.Millisecond, d.Stop)
	default:
		if err := d.control(c, m); err != nil {
			d.refuse("message refused", fmt.Errorf("from %s: %w", c.role, err))
			_ = m.Fail(err)
		}
	}
}

// control serves what concerns leases and workers.
func (d *Daemon) control(c *client, m *wire.Message) error {
	switch m.Type {
	case wire.TEnvDefine:
		var q wire.EnvSpec
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.job != nil {
			c.job.DefineEnv(q)
		}
	case wire.TClassDefine:
		var q wire.ClassDefine
		if err := m.Decode(&q); err != nil {
			return err
		}
		if err := checkAmounts(q.Resources); err != nil {
			return err
		}
		if err := checkFallback(q.Fallback, q.AfterMs); err != nil {
			return err
		}
		k := sched.Class{ID: sched.ClassID(q.ClassID), Need: resource.FromWire(q.Resources), Env: q.EnvKey, Name: q.Name, After: afterOf(q.AfterMs)}
		for _, o := range q.Fallback {
			k.Else = append(k.Else, sched.Choice{Need: resource.FromWire(o.Resources)})
		}
		d.awaitMemory(q.Resources)
		for _, o := range q.Fallback {
			d.awaitMemory(o.Resources)
		}
		d.schedule(c, func(s *sched.Machine) {
			c.define(k.ID, &q)
			s.DefineClass(c.id, k)
		})
	case wire.TClassRetire:
		var q wire.LeaseWant
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.schedule(c, func(s *sched.Machine) {
			delete(c.classes, sched.ClassID(q.ClassID))
			s.RetireClass(c.id, sched.ClassID(q.ClassID))
		})
	case wire.TLeaseWant:
		var q wire.LeaseWant
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.schedule(c, func(s *sched.Machine) {
			s.Wish(c.id, sched.ClassID(q.ClassID), sched.Wish{N: min(q.Want, maxWanted), Seen: q.Seen, Due: q.Due, Next: afterOf(q.DueMs)})
		})
	case wire.TLeaseReturn:
		var q wire.LeaseReturn
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.schedule(c, func(s *sched.Machine) {
			if q.Exiting {
				if w := d.workers[s.WorkerOf(c.id, sched.LeaseID(q.LeaseID))]; w != nil {
					d.table.ExpectEnd(w.Worker, leaveGrace)
				}
			}
			s.Return(c.id, sched.LeaseID(q.LeaseID), q.Exiting, q.Unusable)
		})
	case wire.TLeaseMove:
		var q wire.LeaseMove
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.schedule(c, func(s *sched.Machine) { s.Move(c.id, sched.LeaseID(q.LeaseID), sched.ClassID(q.ClassID)) })
	case wire.TBlocked, wire.TUnblocked:
		if c.worker == nil {
			return nil // a driver holds nothing
		}
		d.schedule(c, func(s *sched.Machine) {
			if m.Type == wire.TBlocked {
				s.Block(c.worker.id)
			} else {
				s.Unblock(c.worker.id)
			}
		})
	case wire.TWhoHolds:
		var q wire.ClassTrouble
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.mu.Lock()
		text := ""
		if len(q.ActorID) > 0 {
			text = d.explainActor(q.ActorID)
		} else {
			text = d.m.Explain(c.id, sched.ClassID(q.ClassID))
		}
		d.mu.Unlock()
		if text == "" {
			text = "nothing of it waits for a worker"
		}
		return m.Reply(text)
	case wire.TGPUWatch:
		go func() { _ = m.Reply(d.gpus.Unenforceable()) }()
	case wire.TGPUUsed:
		go func() { _ = m.Reply(d.gpuHeld(c)) }()
	case wire.TWorkerReady, wire.TWorkerExit, wire.TActorReady:
		return d.fromWorker(c, m)
	case wire.TInherit:
		reply, err := d.inherit(c)
		if err != nil {
			return err
		}
		return m.Reply(reply)
	default:
		return fault.New(fault.BadRequest, "%s is not for a daemon", m.Type)
	}
	return nil
}

// schedule passes an event of a living client to the scheduler.
func (d *Daemon) schedule(c *client, f func(*sched.Machine)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.gone {
		d.event(f)
	}
}

func checkAmounts(a map[string]int64) error {
	if len(a) > wire.MaxAmounts {
		return fault.New(fault.BadRequest, "%d resource names, at most %d are allowed", len(a), wire.MaxAmounts)
	}
	for name, n := range a {
		if n < 0 {
			return fault.New(fault.BadRequest, "resource %s: negative amount", name)
		}
	}
	return nil
}

func checkFallback(list []wire.Alternative, afterMs int64) error {
	if len(list) > wire.MaxAlternatives || afterMs < 0 {
		return fault.New(fault.BadRequest, "fallback: %d alternatives after %d ms, at most %d are allowed", len(list), afterMs, wire.MaxAlternatives)
	}
	for _, o := range list {
		if err := errors.Join(checkAmounts(o.Resources), checkAmounts(o.RunResources)); err != nil {
			return fmt.Errorf("fallback: %w", err)
		}
	}
	return nil
}

// maxAfter is longer than any session.
const maxAfter = 100 * 365 * 24 * time.Hour

func afterOf(ms int64) time.Duration {
	return time.Duration(min(ms, maxAfter.Milliseconds())) * time.Millisecond
}

// fromWorker serves what only workers say.
func (d *Daemon) fromWorker(c *client, m *wire.Message) error {
	w := c.worker
	if w == nil {
		return fault.New(fault.BadRequest, "%s from a %s", m.Type, c.role)
	}
	switch m.Type {
	case wire.TWorkerReady:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.workerReady(w)
	case wire.TWorkerExit:
		var q wire.WorkerExit
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		w.SetReason(cmp.Or(q.Reason, "exit"))
		if !c.gone {
			d.event(func(s *sched.Machine) { s.Leaving(w.id) })
		}
	case wire.TActorReady:
		var q wire.ActorReady
		if err := m.Decode(&q); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.actorReady(w, &q)
	}
	return nil
}

// object serves what concerns the arena.
func (d *Daemon) object(c *client, m *wire.Message) {
	fail := func(err error) {
		if err != nil {
			d.refuse("message refused", err)
			_ = m.Fail(err)
		}
	}
	switch m.Type {
	case wire.TObjCreate:
		var q wire.ObjCreate
		id, err := decodeObject(m, &q, &q.ObjectID)
		if err != nil {
			fail(err)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.gone {
			return
		}
		if d.owners[id.Owner()] == nil {
			_ = m.Fail(fault.New(fault.OwnerDied, "object %s: its owner is gone", id))
			return
		}
		if err := d.mayWrite(c, id); err != nil {
			fail(err)
			return
		}
		if q.Anew {
			d.objects.Supersede(c, id)
		}
		d.objects.Create(c, id, q.Size, func(at objects.Place, err error) { answerPlace(m, at, q.Size, err) })
	case wire.TObjReuse:
		fail(d.reuse(c, m))
	case wire.TObjStats:
		d.mu.Lock()
		defer d.mu.Unlock()
		st := d.objects.Stats()
		_ = m.Reply(wire.ObjStats{Capacity: st.Capacity, Used: st.Used, Objects: st.Objects, Pinned: st.Pinned, PeakBytes: st.Peak, More: st.More})
	case wire.TObjCheck:
		var q wire.ObjRefs
		if err := m.Decode(&q); err != nil {
			fail(err)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.objects.Check(q.ObjectIDs, func(missing [][]byte) { _ = m.Reply(wire.ObjRefs{ObjectIDs: missing}) })
	case wire.TObjPins:
		fail(d.pinAll(c, m))
	case wire.TObjFree:
		var q wire.ObjRefs
		if err := m.Decode(&q); err != nil {
			fail(err)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, raw := range q.ObjectIDs {
			id, err := ids.ParseObject(raw)
			if err == nil {
				err = d.mayFree(c, id)
			}
			if err != nil {
				d.refuse("message refused", err)
			} else if !c.gone {
				d.objects.Free(c, id)
			}
		}
	default:
		var q wire.ObjRef
		id, err := decodeObject(m, &q, &q.ObjectID)
		if err != nil {
			fail(err)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if c.gone {
			return
		}
		switch m.Type {
		case wire.TObjSeal:
			fail(d.objects.Seal(c, id))
		case wire.TObjSealed:
			fail(d.objects.SealPinned(c, id))
		case wire.TObjUnpin:
			d.objects.Unpin(c, id)
		case wire.TObjPin:
			known := d.objects.Has(id)
			d.objects.Pin(c, id, func(at objects.Place, size uint64, err error) {
				if err != nil && !known && d.owners[id.Owner()] == nil {
					err = fault.New(fault.OwnerDied, "object %s is lost: the process that owned it has ended", id)
				}
				answerPlace(m, at, size, err)
			})
		}
	}
}

func answerPlace(m *wire.Message, at objects.Place, size uint64, err error) {
	if err != nil {
		_ = m.Fail(err)
		return
	}
	_ = m.Reply(wire.ObjPlace{Offset: at.Off, Size: size, Path: at.Path})
}

func decodeObject(m *wire.Message, q any, raw *[]byte) (ids.Object, error) {
	if err := m.Decode(q); err != nil {
		return ids.Object{}, err
	}
	id, err := ids.ParseObject(*raw)
	if err != nil {
		return id, fault.New(fault.BadRequest, "%s: %v", m.Type, err)
	}
	return id, nil
}

// connectionClosed ends what a process that is gone held. Its pidfd or its
// socket told; the one that comes second finds nothing to do.
func (d *Daemon) connectionClosed(c *client) {
	d.mu.Lock()
	if c.gone {
		d.mu.Unlock()
		return
	}
	d.dropClient(c)
	j := c.job
	driver := j != nil && j.driver == c
	if c.worker != nil {
		d.table.EndDisconnected(c.worker.Worker)
	}
	d.mu.Unlock()
	if driver {
		d.endJob(j, record.JobLost, "its driver is gone")
		if j.Sink != nil {
			j.Sink.Close()
		}
	}
}

// dropClient takes a process out of the tables; mu held.
func (d *Daemon) dropClient(c *client) {
	if c.gone {
		return
	}
	c.gone = true
	if c.worker != nil {
		d.table.Disconnected(c.worker.Worker)
	}
	delete(d.clients, c.id)
	for _, cancel := range c.cancels {
		go cancel()
	}
	c.cancels = nil
	go c.peer.Close()
	if c.role == wire.RoleCLI {
		return
	}
	c.proc.Release()
	owner := c.self.Owner()
	delete(d.owners, owner)
	d.objects.DropHolder(c, owner)
	d.event(func(m *sched.Machine) { m.RemoveClient(c.id) })
	removeSoon(c.addr)
	if !d.closing && d.headIsSet() {
		if len(c.codeFor) > 0 {
			go c.tasks.add(func() { d.dropCodeOf(c) }) // behind the requests that it has made
		}
		d.head.OwnerDied(owner)
	}
}

func (d *Daemon) headIsSet() bool {
	select {
	case <-d.headSet:
		return true
	default:
		return false
	}
}
