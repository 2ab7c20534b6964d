package daemon

import (
	"cmp"

	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// readyWorker serves TWorkerReady.
func (d *Daemon) readyWorker(w *worker, _ *wire.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workerReady(w)
	return nil
}

// exitingWorker serves TWorkerExit: the worker will end by itself.
func (d *Daemon) exitingWorker(w *worker, m *wire.Message) error {
	var q wire.WorkerExit
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	w.SetReason(cmp.Or(q.Reason, "exit"))
	w.ran = q.Ran[:min(len(q.Ran), wire.MaxLastRuns)]
	if w.Peer() != nil {
		d.event(func(s *sched.Machine) { s.Leaving(w.id) })
	}
	return nil
}

// readyActor serves TActorReady: the actor's constructor has ended.
func (d *Daemon) readyActor(w *worker, m *wire.Message) error {
	var q wire.ActorReady
	if err := m.Decode(&q); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.actorReady(w, &q)
	return nil
}

// answerGPUWatch serves TGPUWatch.
func (d *Daemon) answerGPUWatch(_ *client, m *wire.Message) { _ = m.Reply(d.gpus.Unenforceable()) }

// answerGPUHeld serves TGPUUsed.
func (d *Daemon) answerGPUHeld(c *client, m *wire.Message) { _ = m.Reply(d.gpuHeld(c)) }
