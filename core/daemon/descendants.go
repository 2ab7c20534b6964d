package daemon

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// procStat is what /proc/<pid>/stat says about a process.
type procStat struct {
	pid, ppid, pgrp, session int
	state                    byte
}

// processes lists what runs.
func processes() []procStat {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var ps []procStat
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				ps = append(ps, s)
			}
		}
	}
	return ps
}

// readStat reads one process's line; the name in it may hold anything.
func readStat(pid int) (s procStat, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return s, false
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 4 {
		return s, false
	}
	s.pid, s.state = pid, f[0][0]
	for i, p := range []*int{&s.ppid, &s.pgrp, &s.session} {
		if *p, err = strconv.Atoi(string(f[i+1])); err != nil {
			return s, false
		}
	}
	return s, true
}

// descendantsOf returns the living descendants of root.
func descendantsOf(root int, ps []procStat) []int {
	children := make(map[int][]int)
	for _, p := range ps {
		if p.state != 'Z' && p.state != 'X' {
			children[p.ppid] = append(children[p.ppid], p.pid)
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

// killDescendants kills everything below this process until nothing is left or
// the time is over. Orphans come to the subreaper, so nothing escapes; a look
// at /proc may miss one whose parent is just dying, so only reap, which
// reports that there is no child any more, ends it early.
func killDescendants(limit time.Duration, reap func() (none bool)) (left int) {
	me := os.Getpid()
	for end := time.Now().Add(limit); ; {
		all := descendantsOf(me, processes())
		for _, pid := range all {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if reap() {
			return 0
		}
		if time.Now().After(end) {
			return max(len(all), 1)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
