package daemon

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/machine"
	"github.com/eagleray/eagleray/core/pressure"
	"github.com/eagleray/eagleray/core/sched"
	"github.com/eagleray/eagleray/core/wire"
	"github.com/eagleray/eagleray/core/workers"
)

// usage is who has how much memory, and which workers may be ended.
type usage struct {
	workers   []pressure.Worker
	processes []workers.ProcStat
	bytes     map[int]uint64
	names     map[int]string            // of workers
	sights    map[sched.WorkerID]*sight // of workers that may be ended
}

// descendants lists the processes below the daemon.
func descendants() []int { return workers.DescendantsOf(os.Getpid(), workers.Processes()) }

// newUsage looks at all processes.
func newUsage() *usage {
	v := &usage{processes: workers.Processes(), bytes: make(map[int]uint64), names: make(map[int]string), sights: make(map[sched.WorkerID]*sight)}
	for _, p := range v.processes {
		v.bytes[p.Pid] = machine.ProcessAnon(p.Pid, false)
	}
	return v
}

// usage looks at all processes and asks the workers what they run.
func (d *Daemon) usage() *usage {
	v := newUsage()
	running := d.askRunning(func(*worker) bool { return true })
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.workers {
		x, ok := d.endable(w, running[w.id])
		if !ok {
			continue
		}
		x.Bytes = v.below(w.pid)
		v.sights[w.id] = d.sightOf(w, running[w.id])
		v.workers = append(v.workers, x)
		v.names[w.pid] = fmt.Sprintf("eagleray worker: %s", cmp.Or(x.Name, "idle"))
	}
	return v
}

// below sums the memory of a worker's process, its descendants and its session.
// What it shares with its zygote is not its own.
func (v *usage) below(pid int) uint64 {
	sum := machine.ProcessAnon(pid, true)
	v.bytes[pid] = sum
	seen := map[int]bool{pid: true}
	add := func(p int) {
		if !seen[p] {
			seen[p] = true
			sum += v.bytes[p]
		}
	}
	for _, p := range workers.DescendantsOf(pid, v.processes) {
		add(p)
	}
	for _, p := range v.processes {
		if p.Session == pid {
			add(p.Pid)
		}
	}
	return sum
}

// largest lists the processes, those with the most memory first.
func (v *usage) largest() []pressure.Process {
	var list []pressure.Process
	for _, p := range v.processes {
		if n := v.bytes[p.Pid]; n > 0 {
			list = append(list, pressure.Process{Pid: p.Pid, Bytes: n})
		}
	}
	slices.SortFunc(list, func(a, b pressure.Process) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for i := range list[:min(len(list), 10)] {
		p := &list[i]
		if p.Command = v.names[p.Pid]; p.Command == "" {
			p.Command = machine.ProcessCommand(p.Pid)
		}
	}
	return list
}

// askRunning asks workers what they run; one that does not answer in time is left out.
func (d *Daemon) askRunning(wanted func(*worker) bool) map[sched.WorkerID]*wire.Running {
	var mu sync.Mutex
	answers := make(map[sched.WorkerID]*wire.Running)
	var asked sync.WaitGroup
	d.mu.Lock()
	for _, w := range d.workers {
		if w.state != stateReady || w.client == nil || w.client.gone || !wanted(w) {
			continue
		}
		asked.Add(1)
		id := w.id
		w.client.peer.Go(wire.TRunning, nil, func(m *wire.Message, err error) {
			defer asked.Done()
			r := new(wire.Running)
			if err == nil && m.Decode(r) == nil {
				mu.Lock()
				defer mu.Unlock()
				answers[id] = r
			}
		})
	}
	d.mu.Unlock()
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
	now := make(map[sched.WorkerID]*wire.Running, len(answers))
	for id, r := range answers {
		now[id] = r
	}
	return now
}

// endable describes a worker that may be ended for its memory; mu held. Those
// that come up or go already may not.
func (d *Daemon) endable(w *worker, r *wire.Running) (x pressure.Worker, ok bool) {
	if w.state != stateReady || w.doomed || w.proc == nil {
		return x, false
	}
	x = pressure.Worker{ID: uint64(w.id), Pid: w.pid}
	o, ok := d.m.Occupation(w.id)
	if !ok || o.Ending {
		return x, false
	}
	x.Started = d.began.Add(o.Since)
	switch {
	case w.actor != nil:
		x.Kind, x.Name, x.Owner = pressure.LastActor, w.actor.rec.ClassName, w.actor.rec.Owner.String()
		if w.actor.rec.MayRestart() {
			x.Kind = pressure.Restarts
		}
	case o.Idle || r != nil && r.Busy == 0:
	default:
		x.Kind, x.Name, x.Owner = pressure.Task, o.Name, fmt.Sprint(o.Client)
		if r == nil {
			break // it does not answer: the lease must do
		}
		if r.Once {
			x.Kind = pressure.Once
		}
		x.Name = cmp.Or(strings.ToValidUTF8(r.Name, "?"), x.Name)
		x.Started = time.Now().Add(-time.Duration(r.AgeUs) * time.Microsecond)
	}
	return x, true
}
