package daemon

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/gpus"
)

// initialPidNamespace is what /proc/self/ns/pid is where a process's id is the
// one that the kernel, and so the driver, knows.
const initialPidNamespace = "pid:[4026531836]"

// How long the probe may take to open a GPU, and the driver to list it.
const (
	probeOpens  = 20 * time.Second
	probeListed = 2 * time.Second
)

// watchable says why gpu_memory_enforce cannot be had on this node, "" if it
// can: the processes that NVML lists must be recognised as ours. They are when
// it has listed a worker under its id, or a probe that opens a GPU. Where a
// probe cannot, the daemon must be in the namespace of process ids in which
// everybody has the id that the driver knows.
func (d *Daemon) watchable() string {
	lib, err := d.nvml()
	if err != nil {
		return err.Error()
	}
	d.gpus.proof.Lock()
	defer d.gpus.proof.Unlock()
	d.mu.Lock()
	proven, refused := d.gpus.proven, d.gpus.refused
	d.mu.Unlock()
	if proven || refused != "" {
		return refused
	}
	if _, err := lib.Uses(); err != nil {
		return err.Error() // not for ever: it is started again
	}
	listed, err := d.probe(lib)
	if err != nil {
		namespace, _ := os.Readlink("/proc/self/ns/pid")
		listed = namespace == initialPidNamespace
		err = fmt.Errorf("this node is a container with process ids of its own, and a probe could not open a GPU: %w", err)
	} else {
		err = fmt.Errorf("NVML does not list this node's processes under their ids, as in a container with process ids of its own")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if listed {
		d.gpus.proven = true
		return ""
	}
	d.gpus.refused = err.Error()
	return d.gpus.refused
}

// probe starts a process that opens a GPU and reports whether the driver lists
// it under its id.
func (d *Daemon) probe(lib *gpus.Watcher) (listed bool, err error) {
	cmd := exec.Command(d.o.GPUHelper, "probe", d.o.CUDA)
	stay, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	defer func() {
		_ = stay.Close()
		_ = cmd.Process.Kill()
		_ = out.Close() // the daemon's reaper collects it
	}()
	opened := make(chan bool, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		opened <- line == "open\n"
	}()
	select {
	case ok := <-opened:
		if !ok {
			return false, fmt.Errorf("it ended")
		}
	case <-time.After(probeOpens):
		return false, fmt.Errorf("it took more than %v", probeOpens)
	}
	for end := time.Now().Add(probeListed); ; time.Sleep(20 * time.Millisecond) {
		uses, err := lib.Uses()
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(uses, func(u gpus.Use) bool { return u.Pid == cmd.Process.Pid }) {
			return true, nil
		}
		if time.Now().After(end) {
			return false, nil
		}
	}
}
