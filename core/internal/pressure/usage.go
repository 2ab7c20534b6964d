package pressure

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/internal/workers"
)

// usage is a picture of all processes: how much memory each of them has.
type usage struct {
	figures   Figures
	processes []workers.ProcStat
	bytes     map[int]uint64 // by process id
	names     map[int]string // what a report calls the processes of workers
}

// newUsage looks at all processes.
func newUsage(f Figures) *usage {
	u := &usage{figures: f, processes: f.Processes(), bytes: make(map[int]uint64), names: make(map[int]string)}
	for _, p := range u.processes {
		u.bytes[p.Pid] = f.Anonymous(p.Pid, false)
	}
	return u
}

// add notes in the picture that a process is the worker w, and how much memory it has.
func (u *usage) add(w *Worker) {
	w.Bytes = u.below(w.Pid)
	u.names[w.Pid] = fmt.Sprintf("eagleray worker: %s", cmp.Or(w.Name, "idle"))
}

// below sums the memory of a worker's process, of its descendants and of its session.
// Memory that the worker shares with its zygote is not counted for the worker.
func (u *usage) below(pid int) uint64 {
	sum := u.figures.Anonymous(pid, true)
	u.bytes[pid] = sum
	seen := map[int]bool{pid: true}
	add := func(p int) {
		if !seen[p] {
			seen[p] = true
			sum += u.bytes[p]
		}
	}
	for _, p := range workers.DescendantsOf(pid, u.processes) {
		add(p)
	}
	for _, p := range u.processes {
		if p.Session == pid {
			add(p.Pid)
		}
	}
	return sum
}

// largest lists the processes that have memory, those with the most memory first. The
// processes that a report shows have their command.
func (u *usage) largest() []Process {
	var list []Process
	for _, p := range u.processes {
		if n := u.bytes[p.Pid]; n > 0 {
			list = append(list, Process{Pid: p.Pid, Bytes: n})
		}
	}
	slices.SortFunc(list, func(a, b Process) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for i := range list[:min(len(list), top)] {
		p := &list[i]
		if p.Command = u.names[p.Pid]; p.Command == "" {
			p.Command = u.figures.Command(p.Pid)
		}
	}
	return list
}
