package pressure

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/environ"
	"github.com/eagleray/eagleray/core/internal/gpus"
)

// GPUs is what the GPU watch reads. OpenGPUs reads the real figures. Its methods may be
// called from several goroutines, and take their time.
type GPUs interface {
	// Devices lists the GPUs of the node.
	Devices() []gpus.Device
	// Uses lists what processes hold of the memory of each GPU.
	Uses() ([]gpus.Use, error)
	// Probe starts a process that opens a GPU, and reports whether Uses lists that
	// process under the id that this process knows. The error says why no GPU was opened.
	Probe() (listed bool, err error)
	// HostIDs reports whether this process knows every process by the id that the
	// kernel, and so the driver, knows. In a container it may know others.
	HostIDs() bool
}

// OpenGPUs starts the program helper (eagleray-gpu), which opens NVIDIA's libraries nvml
// and, for Probe, cuda; "" stands for the machine's own.
func OpenGPUs(helper, nvml, cuda string) (GPUs, error) {
	watcher, err := gpus.Start(helper, nvml)
	if err != nil {
		return nil, err
	}
	return &driver{watcher: watcher, helper: helper, cuda: cuda}, nil
}

// driver is the real GPUs: what the driver of the GPUs says.
type driver struct {
	watcher      *gpus.Watcher
	helper, cuda string
}

func (d *driver) Devices() []gpus.Device { return d.watcher.Devices }

func (d *driver) Uses() ([]gpus.Use, error) { return d.watcher.Uses() }

// initialPidNamespace is what /proc/self/ns/pid points to where the id of a process is the
// one that the kernel knows.
const initialPidNamespace = "pid:[4026531836]"

func (*driver) HostIDs() bool {
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return namespace == initialPidNamespace
}

// How long the process of Probe may take to open a GPU, and the driver to list it.
const (
	probeOpens  = 20 * time.Second
	probeListed = 2 * time.Second
)

func (d *driver) Probe() (listed bool, err error) {
	cmd := exec.Command(d.helper, "probe", d.cuda)
	cmd.Env = environ.Public()
	stay, err := cmd.StdinPipe() // the process ends when this is closed
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
		_ = out.Close() // the daemon's reaper collects the process
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
		uses, err := d.Uses()
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
