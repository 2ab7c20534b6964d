package daemon

import (
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/machine"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/workers"
)

// memWatch ends workers before the kernel has to end somebody for want of
// memory. One goroutine looks; package pressure decides.
type memWatch struct {
	o    pressure.Options
	mu   sync.Mutex // of here
	here *machine.Gauge

	noted  uint64    // the kernel's kills that are known; guarded by the daemon's lock, as is the next
	rose   time.Time // when there were more of them
	warned time.Time // that nothing can be ended; the goroutine's own
}

// Times of the watch.
const (
	goneWait  = 5 * time.Second        // for the process of an ended worker
	askWait   = 100 * time.Millisecond // for the workers to say what they run
	warnAgain = time.Minute
	// recently is how long the kernel's kill explains the death of a worker.
	recently = 2 * time.Second
)

// watchMemory runs until the daemon ends.
func (d *Daemon) watchMemory() {
	d.memory.here = machine.NewGauge(machine.Machine{Root: d.memory.o.Root})
	d.memory.noted = d.memory.here.Kills()
	if d.memory.o.Every <= 0 {
		return
	}
	go func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		var counted time.Time
		for {
			select {
			case <-timer.C:
			case <-d.stop:
				return
			}
			if now := time.Now(); now.Sub(counted) > recently {
				counted = now
				d.noteKills()
			}
			level, left, ok := d.tightest()
			if ok && left < 0 {
				d.relieve(level)
				_, left, ok = d.tightest()
			}
			next := d.memory.o.Every
			if ok {
				next = d.memory.o.Next(left)
			}
			timer.Reset(next)
		}
	}()
}

// tightest looks at the machine, the cgroups and the session's own limit.
func (d *Daemon) tightest() (machine.Level, int64, bool) {
	o := d.memory.o
	d.memory.mu.Lock()
	levels := d.memory.here.Levels()
	d.memory.mu.Unlock()
	if o.Limit > 0 {
		l := machine.Level{Name: "the session", Room: o.Limit}
		pids := descendants()
		for _, exact := range []bool{false, true} { // the exact number is dear
			l.Anon = 0
			for _, pid := range pids {
				l.Anon += machine.ProcessAnon(pid, exact)
			}
			if l.Anon <= o.Bar(l.Room) {
				break
			}
		}
		levels = append(levels, l)
	}
	return o.Tightest(levels)
}

func (d *Daemon) nodeName() string {
	return fmt.Sprintf("node %s (%s)", d.o.Address, d.o.Node)
}

// noteKills looks how often the kernel has ended processes.
func (d *Daemon) noteKills() {
	d.memory.mu.Lock()
	n := d.memory.here.Kills()
	d.memory.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if n > d.memory.noted {
		d.memory.noted, d.memory.rose = n, time.Now()
	}
}

// byKernel notes of a worker that somebody has killed that it was the kernel,
// when that has just ended processes for want of memory.
func (d *Daemon) byKernel(w *worker) {
	d.noteKills()
	d.mu.Lock()
	rose := time.Since(d.memory.rose) <= recently
	what := "a worker"
	if o, ok := d.m.Occupation(w.id); ok {
		switch {
		case w.actor != nil:
			what = "actor " + w.actor.rec.ClassName
		case o.Name != "":
			what = "task " + o.Name
		}
	}
	status := workers.ExitText(w.pid, w.status, true)
	d.mu.Unlock()
	if !rose {
		return
	}
	text := pressure.KernelReport(d.nodeName(), what, status, newUsage().largest())
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.exceeded == "" {
		w.exceeded, w.excess = text, fault.OutOfMemory
	}
}
