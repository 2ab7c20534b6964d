package pressure

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/machine"
)

// The worker that is to be ended is chosen from a picture of all processes, which takes
// some milliseconds to make. Meanwhile an idle worker may have become an actor's, or a
// task may have ended and given its memory back. So Workers.End asks the chosen worker
// once more, and ends it only if it still does what the picture shows. If not, the watch
// makes another picture.

// exactLooks is how many pictures must show the very call that the chosen worker runs.
// After these, another task of the same function may be ended instead.
const exactLooks = 3

// relieve ends one worker, and waits until its process is gone and its memory is back.
func (m *MemoryWatch) relieve(level machine.Level) {
	for looks := 0; looks <= exactLooks; looks++ {
		view := newUsage(m.c.Figures)
		w, ok := Pick(m.candidates(view))
		if !ok {
			if time.Since(m.warned) > warnAgain {
				m.warned = time.Now()
				m.c.Log.Warn("memory is short, and there is no worker that could be ended", "where", level.Name, "used", level.Anon, "room", level.Room)
			}
			return
		}
		why := Ending{Code: fault.OutOfMemory, Text: m.c.Options.Report(m.c.Node, w, level, view.largest()), Bytes: w.Bytes}
		if gone, ended := m.c.Workers.End(w, looks < exactLooks, why); ended {
			m.awaitRelief(gone)
			return
		}
		var left int64
		if level, left, ok = m.tightest(); !ok || left >= 0 {
			return
		}
	}
}

// candidates lists the workers that may be ended, with the memory that each has.
func (m *MemoryWatch) candidates(view *usage) []Worker {
	var list []Worker
	views := m.c.Workers.List()
	now := time.Now()
	for _, v := range views {
		if w, ok := v.candidate(now); ok {
			view.add(&w)
			list = append(list, w)
		}
	}
	return list
}

// awaitRelief waits until a worker that was ended is gone, and until its memory is back.
func (m *MemoryWatch) awaitRelief(gone <-chan struct{}) {
	limit := time.NewTimer(goneWait)
	defer limit.Stop()
	select {
	case <-gone:
	case <-limit.C:
	case <-m.c.Stop:
		return
	}
	pause := time.NewTicker(reliefLook)
	defer pause.Stop()
	for end := time.Now().Add(m.c.Options.Every); time.Now().Before(end); {
		if _, left, ok := m.tightest(); !ok || left >= 0 {
			return
		}
		select {
		case <-pause.C:
		case <-m.c.Stop:
			return
		}
	}
}
