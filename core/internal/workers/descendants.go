package workers

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ProcStat is what /proc/<pid>/stat says about a process.
type ProcStat struct {
	Pid, PPid, Pgrp, Session int
	State                    byte
}

// Processes lists all processes that this one may see.
func Processes() []ProcStat {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	ps := make([]ProcStat, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				ps = append(ps, s)
			}
		}
	}
	return ps
}

// children lists this process's children. One that was a child all the time may
// be missing when another ended meanwhile.
func children() []ProcStat {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return Processes()
	}
	var ps []ProcStat
	for _, t := range threads {
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil && t.Name() == strconv.Itoa(os.Getpid()) {
			return Processes() // this kernel has no such files
		}
		for _, field := range bytes.Fields(b) {
			if pid, ok := number(field); ok {
				if s, ok := readStat(pid); ok {
					ps = append(ps, s)
				}
			}
		}
	}
	return ps
}

// statBytes is more than a process's line has up to its session.
const statBytes = 512

// readStat reads one process's line. The process's name in the line may contain anything.
// readStat makes no garbage, because it runs for all processes of the machine after each
// end of a worker.
func readStat(pid int) (s ProcStat, ok bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return s, false
	}
	defer unix.Close(fd)
	var line [statBytes]byte
	n, err := unix.Read(fd, line[:])
	if err != nil || n <= 0 {
		return s, false
	}
	return parseStat(pid, line[:n])
}

func parseStat(pid int, b []byte) (s ProcStat, ok bool) {
	b = b[bytes.LastIndexByte(b, ')')+1:]
	if len(b) < 3 || b[0] != ' ' || b[2] != ' ' {
		return s, false
	}
	s.Pid, s.State, b = pid, b[1], b[3:]
	for _, p := range []*int{&s.PPid, &s.Pgrp, &s.Session} {
		end := bytes.IndexByte(b, ' ')
		if end < 0 {
			return s, false
		}
		if *p, ok = number(b[:end]); !ok {
			return s, false
		}
		b = b[end+1:]
	}
	return s, true
}

// number parses a decimal number as the kernel writes it.
func number(b []byte) (n int, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// DescendantsOf returns the living descendants of root.
func DescendantsOf(root int, ps []ProcStat) []int {
	children := make(map[int][]int)
	for _, p := range ps {
		if p.State != 'Z' && p.State != 'X' {
			children[p.PPid] = append(children[p.PPid], p.Pid)
		}
	}
	var all []int
	next := []int{root}
	for len(next) > 0 {
		c := children[next[0]]
		all = append(all, c...)
		next = append(next[1:], c...)
	}
	return all
}

// KillDescendants kills everything below this process until nothing is left or
// their number has not fallen for as long as limit. Orphans come to the
// subreaper, so nothing escapes; a look at /proc may miss one whose parent is
// just dying, so only reap, which reports that there is no child any more, ends
// it early.
func KillDescendants(limit time.Duration, reap func() (none bool)) (left int) {
	me := os.Getpid()
	fewest := math.MaxInt
	for end := time.Now(); ; {
		began := time.Now()
		all := DescendantsOf(me, Processes())
		for _, pid := range all {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if reap() {
			return 0
		}
		now := time.Now()
		if len(all) < fewest {
			fewest, end = len(all), now.Add(limit)
		}
		if now.After(end) {
			return max(len(all), 1)
		}
		// A thousand that end need the processors more than this look at them.
		time.Sleep(max(2*time.Millisecond, 2*now.Sub(began)))
	}
}
