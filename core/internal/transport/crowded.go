package transport

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// crowded reports whether more threads want to run on this machine at this moment than
// this process has processors. It takes some microseconds. In a container the threads of
// the whole host count, so the answer may be yes where our own processors are idle: then
// looks are short. Where the system does not say, nothing is crowded.
func crowded() bool {
	fd, err := unix.Open("/proc/loadavg", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var line [128]byte
	n, err := unix.Read(fd, line[:])
	if err != nil {
		return false
	}
	return runningIn(line[:max(n, 0)]) > cpus
}

// runningIn reads how many threads run or wait for a processor from a line of
// /proc/loadavg: three averages, then "running/all", then the latest process. 0: it does not say.
func runningIn(line []byte) int {
	fields := bytes.Fields(line)
	if len(fields) < 4 {
		return 0
	}
	running, _, _ := bytes.Cut(fields[3], []byte("/"))
	n, err := strconv.Atoi(string(running))
	if err != nil {
		return 0
	}
	return n
}
