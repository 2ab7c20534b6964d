package workers

import (
	"sync"

	"golang.org/x/sys/unix"
)

// noCore is a limit for core files of which the kernel makes none: it is smaller than any, and the kernel also takes it as
// the sign not to start a program that collects them, which other limits do not keep it from.
const noCore = 1

// cores keeps the limit that this process had before NoCore. It is nil before that.
var cores struct {
	sync.Mutex
	before *unix.Rlimit
}

// NoCore keeps the kernel from writing this process's memory, in which there are secrets, to a file. Zygotes and workers that are started
// later have the limit that this process had before: their core files are the user's.
//
// Where the user allows no limit but 0, the one that keeps a program from collecting core files cannot be had. There this process is made
// one that the kernel dumps in no case. Processes that it starts are not: a new program begins as one that may be dumped.
func NoCore() error {
	cores.Lock()
	defer cores.Unlock()
	if cores.before != nil {
		return nil
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &before); err != nil {
		return err
	}
	if before.Max < noCore {
		return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	}
	limit := unix.Rlimit{Cur: noCore, Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	cores.before = &before
	return nil
}

// mayDump gives a process that was just started the limit that this process had before NoCore.
func mayDump(pid int) error {
	cores.Lock()
	defer cores.Unlock()
	if cores.before == nil {
		return nil
	}
	return unix.Prlimit(pid, unix.RLIMIT_CORE, cores.before, nil)
}
