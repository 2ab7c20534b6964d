package cpu

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Linux grants addresses beyond what there is memory for and kills a process
// that uses them. So larger allocations, and many small ones together, are
// first held against what is available.

// unchecked is how much may be allocated between two looks.
const unchecked = 16 << 20

type spending struct{ since atomic.Int64 }

var budget spending

func (s *spending) spend(room int) bool {
	if s.since.Add(int64(room)) < unchecked {
		return true
	}
	s.since.Store(0)
	free, total := available()
	return total == 0 || int64(room) <= free
}

func outOfMemory(size int) error {
	free, total := available()
	return &backend.OutOfMemoryError{Device: "cpu", Asked: int64(size), Free: free, Total: total}
}

// available is what this process may still use of how much: of the machine's
// memory or its control groups'. Zeros where that cannot be read.
func available() (free, total int64) {
	free, total = machine()
	for _, g := range groups() {
		limit, ok := number(filepath.Join(g, "memory.max"))
		if !ok || total != 0 && limit > total {
			continue
		}
		used, ok := number(filepath.Join(g, "memory.current"))
		if !ok {
			continue
		}
		used -= inactive(filepath.Join(g, "memory.stat")) // pages of files that the kernel drops first
		total = limit
		free = min(free, max(limit-used, 0))
	}
	return free, total
}

func machine() (free, total int64) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(fields[1], 10, 64)
		switch fields[0] {
		case "MemTotal:":
			total = kib << 10
		case "MemAvailable:":
			free = kib << 10
		}
	}
	return free, total
}

// groups are the folders of this process's control group (version 2) and those
// above it.
func groups() []string {
	text, _ := os.ReadFile("/proc/self/cgroup") // absent elsewhere
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		var dirs []string
		for path = filepath.Clean("/" + path); ; path = filepath.Dir(path) {
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup", path))
			if path == "/" {
				return dirs
			}
		}
	}
	return nil
}

// number reads a file with one; "max" is none.
func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

func inactive(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if value, ok := strings.CutPrefix(in.Text(), "inactive_file "); ok {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

func mmap(size int) (unsafe.Pointer, error) {
	p, _, errno := syscall.Syscall6(syscall.SYS_MMAP, 0, uintptr(size), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON, ^uintptr(0), 0)
	if errno != 0 {
		return nil, errno
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(&p)), nil // an address, not the collector's
}

func munmap(p unsafe.Pointer, size int) {
	_, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, uintptr(p), uintptr(size), 0) // cannot fail for what mmap gave
}
