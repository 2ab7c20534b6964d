package machine

import (
	"strconv"
	"strings"
	"time"
)

// Level is the memory of one thing that can run out of it: the machine, or a
// cgroup with a limit.
type Level struct {
	Name string // "the machine", or the cgroup's folder
	Anon uint64 // bytes of anonymous memory in use: it cannot be dropped, only swapped
	Room uint64 // bytes that anonymous memory can have, Anon included
}

// Gauge looks at a machine's memory again and again: it remembers which
// cgroups there are for a while.
type Gauge struct {
	m      Machine
	all    []group
	limits []group // those of them that have a limit
	found  time.Time
}

// NewGauge returns one for the machine.
func NewGauge(m Machine) *Gauge { return &Gauge{m: m} }

// regroup is how long a process is taken to stay in its cgroups.
const regroup = 5 * time.Second

func (g *Gauge) look() {
	now := time.Now()
	if !g.found.IsZero() && now.Sub(g.found) < regroup {
		return
	}
	g.found, g.all, g.limits = now, g.m.groups("memory"), nil
	for _, x := range g.all {
		if limit, ok := x.limit(); ok && limit < unlimited {
			g.limits = append(g.limits, x)
		}
	}
}

func (g group) limit() (uint64, bool) { return g.bytes("memory.max", "memory.limit_in_bytes") }

// Levels returns the machine and the limited cgroups that this process is in.
// Page cache does not count at all: the kernel drops it. Shared memory, such as
// the object store, is no anonymous memory, and takes of the room. What cannot
// be read is left out.
func (g *Gauge) Levels() []Level {
	var ls []Level
	info := g.m.read("/proc/meminfo")
	kib := func(name string) uint64 { return number64(info, name) << 10 }
	if total := kib("MemTotal:"); total > 0 {
		avail, anon := kib("MemAvailable:"), kib("AnonPages:")
		if anon == 0 {
			anon = total - min(total, avail+kib("Shmem:"))
		}
		ls = append(ls, Level{Name: "the machine", Anon: anon, Room: min(anon+avail, total)})
	}
	g.look()
	for _, x := range g.limits {
		if limit, ok := x.limit(); ok {
			if l, ok := x.level(limit); ok {
				ls = append(ls, l)
			}
		}
	}
	return ls
}

// unlimited is what version 1 calls no limit, roughly.
const unlimited = 1 << 62

// level reads how much of a group's limit is anonymous and how much is taken
// by what cannot be dropped either.
func (g group) level(limit uint64) (Level, bool) {
	s := g.stat()
	anon, ok := s["anon"] // version 2
	taken := s["shmem"] + s["slab_unreclaimable"] + s["kernel_stack"] + s["pagetables"] + s["percpu"] + s["sock"]
	if !ok {
		// Version 1 counts the kernel's memory as one, what can be dropped included.
		if anon, ok = s["total_rss"]; !ok {
			return Level{}, false
		}
		taken = s["total_shmem"]
	}
	return Level{Name: "cgroup " + g.dir, Anon: anon, Room: limit - min(limit, taken)}, true
}

// stat returns the numbers of memory.stat.
func (g group) stat() map[string]uint64 {
	s := make(map[string]uint64)
	for line := range strings.Lines(g.read("memory.stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			s[name] = n
		}
	}
	return s
}

// Kills returns how many processes the kernel has ended for want of memory in
// the cgroup that this process is in, or, where that cannot be read, on the
// machine. What it ends in other groups, be they inside of ours, is none of ours.
func (g *Gauge) Kills() uint64 {
	g.look()
	if len(g.all) > 0 {
		for _, name := range []string{"memory.events.local", "memory.events", "memory.oom_control"} {
			if text := g.all[0].read(name); strings.Contains(text, "oom_kill ") {
				return number64(text, "oom_kill")
			}
		}
	}
	return number64(g.m.read("/proc/vmstat"), "oom_kill")
}

// number64 returns the number in the line of text that begins with name.
func number64(text, name string) uint64 {
	for rest := text; rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if after, ok := strings.CutPrefix(line, name); ok && after != "" && after[0] == ' ' {
			n, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(after), " kB"), 10, 64)
			return n
		}
	}
	return 0
}
