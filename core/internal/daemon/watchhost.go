package daemon

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// openWatches makes the watches over the memory of the node and of its GPUs.
func (d *Daemon) openWatches() {
	d.gpus = pressure.NewGPUWatch(pressure.GPUConfig{
		Open:    func() (pressure.GPUs, error) { return pressure.OpenGPUs(d.o.GPUHelper, d.o.NVML, d.o.CUDA) },
		Workers: watchHost{d}, Lock: &d.mu, Log: d.log, Complain: d.refuse, Stop: d.ctx.Done(),
	})
	d.memory = pressure.NewMemoryWatch(pressure.MemoryConfig{
		Options: d.o.Memory, Node: fmt.Sprintf("node %s (%s)", d.o.Address, d.o.Node),
		Figures: pressure.FiguresOf(d.o.Memory.Root), Workers: watchHost{d}, Log: d.log, Stop: d.ctx.Done(),
	})
}

// watchHost shows the node's workers to the watches of package pressure: it implements
// pressure.Workers and pressure.GPUWorkers.
type watchHost struct{ d *Daemon }

// askWait is how long workers have to say what they run.
const askWait = 100 * time.Millisecond

// List implements pressure.Workers.
func (h watchHost) List() []pressure.View {
	d := h.d
	running := d.askRunning(func(*worker) bool { return true })
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []pressure.View
	for _, w := range d.workers {
		if w.State() != workers.Ready || w.Dismissed() || w.Process() == nil {
			continue
		}
		if _, known := d.m.Occupation(w.id); !known {
			continue
		}
		v := pressure.View{ID: uint64(w.id), Pid: w.Pid(), Work: d.workOf(w, running[w.id])}
		if w.actor != nil {
			v.Class, v.Owner, v.MayRestart = w.actor.rec.ClassName, w.actor.rec.Owner.String(), w.actor.rec.MayRestart()
		}
		list = append(list, v)
	}
	return list
}

// workOf returns what a worker does. Runs is what the worker itself has answered, or
// nil; mu held.
func (d *Daemon) workOf(w *worker, runs *wire.Running) pressure.Work {
	o, _ := d.m.Occupation(w.id)
	x := pressure.Work{Idle: o.Idle, Ending: o.Ending, Client: uint64(o.Client), Name: o.Name, Since: d.began.Add(o.Since)}
	if w.actor != nil {
		x.Actor = w.actor.rec.ID
	}
	if runs != nil {
		x.Answered, x.Runs = true, *runs
	}
	return x
}

// End implements pressure.Workers.
func (h watchHost) End(v pressure.Worker, exact bool, why pressure.Ending) (gone <-chan struct{}, ended bool) {
	d, id := h.d, sched.WorkerID(v.ID)
	runs := d.askRunning(func(w *worker) bool { return w.id == id })
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.workers[id]
	if w == nil || w.State() == workers.Gone || w.Process() == nil || d.closing {
		over := make(chan struct{})
		close(over)
		return over, true
	}
	now := d.workOf(w, runs[id])
	if !v.Work.Same(now, exact) {
		d.log.Info("a worker that was to be ended for want of memory does something else by now", "pid", w.Pid(), "what", v.Name)
		return nil, false
	}
	d.log.Warn("a worker is ended for want of memory", "pid", w.Pid(), "what", v.Name, "bytes", v.Bytes, "report", why.Text)
	if now.Idle {
		d.event(func(m *sched.Machine) { m.StopIdle(w.id) })
		return w.Process().Gone, true
	}
	w.Blame(excessOf(why))
	d.table.Kill(w.Worker)
	return w.Process().Gone, true
}

// WorkerOf implements pressure.GPUWorkers.
func (h watchHost) WorkerOf(pid int) (id uint64, ok bool) {
	w := h.d.table.ByPid(pid)
	if w == nil {
		return 0, false
	}
	return w.ID(), true
}

// EndNow implements pressure.GPUWorkers.
func (h watchHost) EndNow(id uint64, why pressure.Ending) bool {
	w := h.d.workers[sched.WorkerID(id)]
	if w == nil || !w.Blame(excessOf(why)) {
		return false
	}
	h.d.table.Kill(w.Worker)
	return true
}

// excessOf is why a worker ends, as the table of workers keeps it.
func excessOf(why pressure.Ending) workers.Excess {
	return workers.Excess{Text: why.Text, Code: why.Code, Bytes: why.Bytes}
}

// byKernel notes of a worker that somebody has killed that it was the kernel, if the
// kernel has just ended processes because memory was short.
func (d *Daemon) byKernel(w *worker) {
	why, ok := d.memory.KernelKill(func() (what, status string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		what = "a worker"
		if o, known := d.m.Occupation(w.id); known {
			switch {
			case w.actor != nil:
				what = "actor " + w.actor.rec.ClassName
			case o.Name != "":
				what = "task " + o.Name
			}
		}
		return what, w.ExitText()
	})
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Blame(excessOf(why))
}

// gpuHeld answers a worker how many bytes of GPUs it holds now.
func (d *Daemon) gpuHeld(c *client) int64 {
	if c.worker == nil {
		return pressure.Unwatched
	}
	return d.gpus.Held(uint64(c.worker.id))
}

// askRunning asks workers what they run. A worker that does not answer in time is left
// out of the answer.
func (d *Daemon) askRunning(wanted func(*worker) bool) map[sched.WorkerID]*wire.Running {
	var mu sync.Mutex // guards answers
	answers := make(map[sched.WorkerID]*wire.Running)
	var asked sync.WaitGroup
	ask := func(w *worker) {
		asked.Add(1)
		id := w.id
		w.Peer().Go(wire.TRunning, nil, func(m *wire.Message, err error) {
			defer asked.Done()
			r := new(wire.Running)
			if err == nil && m.Decode(r) == nil {
				mu.Lock()
				defer mu.Unlock()
				answers[id] = r
			}
		})
	}
	d.locked(func() {
		for _, w := range d.workers {
			if w.State() == workers.Ready && w.Peer() != nil && wanted(w) {
				ask(w)
			}
		}
	})
	all := make(chan struct{})
	go func() {
		asked.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(askWait):
	}
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(answers) // answers that come later go into the first map
}
