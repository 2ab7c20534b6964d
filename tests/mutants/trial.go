package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bounds is how much a trial may use. A changed program may allocate, write
// or start processes without end, and the machine belongs to others, too.
type bounds struct {
	memory    int64  // bytes that all its processes have together; of shared memory the largest process counts
	disk      int64  // bytes below its temporary folder
	file      uint64 // bytes of any one file, also of one without a name
	processes int
}

// ordinary suits the go command and the tests of every package here.
var ordinary = bounds{memory: 6 << 30, disk: 4 << 30, file: 1 << 30, processes: 1000}

// errBound says that a trial was ended because it used more than its bounds.
var errBound = errors.New("the tests were ended")

// lookEvery is how often a running trial is compared with its bounds.
const lookEvery = 100 * time.Millisecond

// endWithin bounds how long the end of a trial's processes may take.
const endWithin = time.Minute

// run runs a command in an own temporary folder and within bounds. When it
// returns, no process that the command started lives any longer, also none
// that left the command's process group, and the temporary folder is gone.
// This process becomes the parent of orphans below it, and must have no other
// children meanwhile. The verdict says how the command failed; err says that
// the trial itself could not be made, so that there is no verdict.
func (b bounds) run(cmd *exec.Cmd, folder string) (verdict, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the parent of orphans: %w", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the trial's folder: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(folder)) }()
	defer func() { err = errors.Join(err, endDescendants(endWithin)) }()
	cmd.Env = append(cmd.Environ(), "TMPDIR="+folder, "EAGLERAY_TMPDIR="+folder)
	if err := b.start(cmd); err != nil {
		return nil, fmt.Errorf("start the trial: %w", err)
	}
	done := make(chan struct{})
	exceeded := make(chan error, 1)
	go func() { exceeded <- b.watch(done, folder) }()
	verdict = cmd.Wait()
	close(done)
	if found := <-exceeded; found != nil {
		verdict = found
	}
	return verdict, nil
}

// output runs a command as run does, and gives what it printed.
func (b bounds) output(cmd *exec.Cmd, folder string) (printed []byte, verdict, err error) {
	var buffer bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buffer, &buffer
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends this program, which then ends the trial
	cmd.WaitDelay = time.Second                           // what the command left behind may hold the pipe
	verdict, err = b.run(cmd, folder)
	if errors.Is(verdict, exec.ErrWaitDelay) {
		verdict = nil
	}
	return buffer.Bytes(), verdict, err
}

// start starts the command with the bound on files, which children inherit.
func (b bounds) start(cmd *exec.Cmd) error {
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		return fmt.Errorf("read the limit of a file's size: %w", err)
	}
	during := unix.Rlimit{Cur: min(b.file, before.Max), Max: before.Max}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &during); err != nil {
		return fmt.Errorf("set the limit of a file's size: %w", err)
	}
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &before)
	return cmd.Start()
}

// watch compares what the trial uses with its bounds until it is done. A
// trial that uses more is ended at once.
func (b bounds) watch(done <-chan struct{}, folder string) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		found := b.exceeded(descendants(), folder)
		if found == nil {
			continue
		}
		// The command itself ends, too, so that run goes on.
		for _, pid := range descendants() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-done
		return found
	}
}

// exceeded tells which bound these processes and this folder exceed.
func (b bounds) exceeded(pids []int, folder string) error {
	if len(pids) > b.processes {
		return fmt.Errorf("%w: they had %d processes, %d are allowed", errBound, len(pids), b.processes)
	}
	var own, shared int64
	for _, pid := range pids {
		mine, also := memoryOf(pid)
		own += mine
		shared = max(shared, also)
	}
	if own+shared > b.memory {
		return fmt.Errorf("%w: they used %d MiB of memory, %d are allowed", errBound, (own+shared)>>20, b.memory>>20)
	}
	if disk := diskOf(folder); disk > b.disk {
		return fmt.Errorf("%w: their temporary folder had %d MiB, %d are allowed", errBound, disk>>20, b.disk>>20)
	}
	return nil
}

// diskOf gives the bytes that the files below a folder take. Files may come
// and go meanwhile.
func diskOf(folder string) (sum int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += 512 * stat.Blocks
			}
		}
		return nil
	})
	return sum
}

// removeAll removes a folder, also one in which a test has made folders that
// their owner may not write.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && strings.HasPrefix(path, folder) {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the trial's folder: %w", err)
	}
	return nil
}
