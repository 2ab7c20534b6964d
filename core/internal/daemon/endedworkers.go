package daemon

import (
	"bytes"
	"time"

	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// row returns the worker as the census shows it.
func (w *worker) row() wire.WorkerRow {
	ordered, ready := w.Times()
	r := wire.WorkerRow{
		WorkerID: bytes.Clone(w.self[:]), Role: wire.RoleWorker, Pid: w.Pid(), JobID: bytes.Clone(w.job.ID[:]),
		Alive: w.State() != workers.Gone, StartedMs: ms(ordered), ReadyMs: ms(ready), Repr: w.repr,
	}
	if w.actor != nil {
		r.ActorID = bytes.Clone(w.actor.rec.ID[:])
	}
	return r
}

// ms returns a time in milliseconds, 0 for the zero time.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// keptWorkers is how many workers that have ended the census shows at most.
const keptWorkers = 500

// noteEnd remembers a worker that has ended, for the census; mu held.
func (d *Daemon) noteEnd(w *worker, end workers.End) {
	if len(d.ended) >= keptWorkers {
		d.ended = append(d.ended[:0], d.ended[keptWorkers/2:]...)
	}
	r := w.row()
	r.EndedMs, r.Reason, r.Detail, r.Alive, r.Ran = time.Now().UnixMilli(), w.Reason(), end.Detail, false, w.ran
	d.ended = append(d.ended, r)
}
