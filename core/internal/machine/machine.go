package machine

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Machine reads a machine's files. Root is "" for the real one; tests give a
// folder with proc and sys in it.
type Machine struct{ Root string }

// Here returns the machine that this process runs on.
func Here() Machine { return Machine{} }

// CPUs returns how many CPUs the process may keep busy: those of its affinity
// mask, at most the whole CPUs of its quota, at least one.
func (m Machine) CPUs() int {
	n := m.affinity()
	if quota, ok := m.cpuQuota(); ok && quota < float64(n) {
		n = int(quota)
	}
	return max(n, 1)
}

// Memory returns the bytes that the process and its children may use.
func (m Machine) Memory() uint64 {
	total := m.meminfo("MemTotal")
	for _, g := range m.groups("memory") {
		if limit, ok := g.bytes("memory.max", "memory.limit_in_bytes"); ok {
			total = min(total, limit)
		}
	}
	return total
}

// MemoryAvailable returns the bytes that can still be had without swapping:
// page cache that can be dropped counts as available.
func (m Machine) MemoryAvailable() uint64 {
	avail := m.meminfo("MemAvailable")
	for _, g := range m.groups("memory") {
		limit, ok := g.bytes("memory.max", "memory.limit_in_bytes")
		if !ok {
			continue
		}
		used, ok := g.bytes("memory.current", "memory.usage_in_bytes")
		if !ok {
			continue
		}
		used -= min(used, g.inactiveFile())
		avail = min(avail, limit-min(limit, used))
	}
	return avail
}

// affinity counts the CPUs of the process's mask.
func (m Machine) affinity() int {
	for line := range strings.Lines(m.read("/proc/self/status")) {
		list, ok := strings.CutPrefix(line, "Cpus_allowed_list:")
		if !ok {
			continue
		}
		if n := countList(strings.TrimSpace(list)); n > 0 {
			return n
		}
	}
	return runtime.NumCPU()
}

// countList counts the numbers in a list like "0-3,8".
func countList(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || b < a {
			return 0
		}
		n += b - a + 1
	}
	return n
}

// cpuQuota returns the smallest quota in CPUs, if there is one.
func (m Machine) cpuQuota() (cpus float64, ok bool) {
	note := func(quota, period float64) {
		if quota > 0 && period > 0 && (!ok || quota/period < cpus) {
			cpus, ok = quota/period, true
		}
	}
	for _, g := range m.groups("cpu") {
		if f := strings.Fields(g.read("cpu.max")); len(f) == 2 {
			note(number(f[0]), number(f[1]))
		}
		note(number(g.read("cpu.cfs_quota_us")), number(g.read("cpu.cfs_period_us")))
	}
	return cpus, ok
}

// number returns 0 for anything else, "max" included.
func number(s string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0
	}
	return f
}

// meminfo returns a line of /proc/meminfo in bytes.
func (m Machine) meminfo(name string) uint64 {
	s := bufio.NewScanner(strings.NewReader(m.read("/proc/meminfo")))
	for s.Scan() {
		f := strings.Fields(s.Text())
		if len(f) >= 2 && f[0] == name+":" {
			kib, _ := strconv.ParseUint(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

func (m Machine) read(path string) string {
	b, err := os.ReadFile(filepath.Join(m.Root, "/", path))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}
