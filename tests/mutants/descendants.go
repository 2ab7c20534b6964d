package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// descendants lists the processes that this process started, those that they
// started, and so on. Ended ones of which nobody has taken note are left out.
func descendants() []int {
	children := map[int][]int{}
	for pid, stat := range processes() {
		if stat.state != "Z" {
			children[stat.parent] = append(children[stat.parent], pid)
		}
	}
	found := children[os.Getpid()]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// processStat is what is read of a process.
type processStat struct {
	parent int
	state  string
}

// processes reads all processes that can be seen.
func processes() map[int]processStat {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	found := make(map[int]processStat, len(paths))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name before it stands in parentheses and may hold any character.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			found[pid] = processStat{parent, fields[0]}
		}
	}
	return found
}

// endDescendants kills all descendants, also those that start while it runs,
// and takes note of the end of those whose parent this process is now.
func endDescendants(within time.Duration) error {
	for end := time.Now().Add(within); ; time.Sleep(time.Millisecond) {
		alive := descendants()
		for _, pid := range alive {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for pid, stat := range processes() {
			if stat.parent == os.Getpid() {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			}
		}
		if len(alive) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the processes %v live %v after they were killed", alive, within)
		}
	}
}

// memoryOf gives the bytes of memory that only this process has, and those
// that it shares with others.
func memoryOf(pid int) (own, shared int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0 // it has ended
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 64)
		switch {
		case err != nil:
		case fields[0] == "RssAnon:":
			own = kib << 10
		case fields[0] == "RssShmem:":
			shared = kib << 10
		}
	}
	return own, shared
}
