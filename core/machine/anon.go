package machine

import (
	"strconv"
	"strings"
)

// Level is the memory of one thing that can run out of it: the machine, or a
// cgroup with a limit.
type Level struct {
	Name string // "the machine", or the cgroup's folder
	Anon uint64 // bytes of anonymous memory in use: it cannot be dropped, only swapped
	Room uint64 // bytes that anonymous memory can have, Anon included
}

// Levels returns the machine and the limited cgroups that this process is in.
// Page cache does not count at all: the kernel drops it. Shared memory, such as
// the object store, is no anonymous memory, and takes of the room. What cannot
// be read is left out.
func (m Machine) Levels() []Level {
	var ls []Level
	if total := m.meminfo("MemTotal"); total > 0 {
		avail, anon := m.meminfo("MemAvailable"), m.meminfo("AnonPages")
		if anon == 0 {
			anon = total - min(total, avail+m.meminfo("Shmem"))
		}
		ls = append(ls, Level{Name: "the machine", Anon: anon, Room: min(anon+avail, total)})
	}
	for _, g := range m.groups("memory") {
		limit, ok := g.bytes("memory.max", "memory.limit_in_bytes")
		if !ok || limit >= unlimited {
			continue
		}
		if l, ok := g.level(limit); ok {
			ls = append(ls, l)
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

// Kills returns how many processes the kernel has ended for want of memory,
// on the machine and in the cgroups that this process is in.
func (m Machine) Kills() uint64 {
	n := field(m.read("/proc/vmstat"), "oom_kill")
	for _, g := range m.groups("memory") {
		n += field(g.read("memory.events"), "oom_kill") // version 2
		n += field(g.read("memory.oom_control"), "oom_kill")
	}
	return n
}

// field returns the number in the line of text that begins with name.
func field(text, name string) uint64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			return n
		}
	}
	return 0
}
