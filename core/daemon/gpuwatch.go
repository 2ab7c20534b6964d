package daemon

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/gpus"
	"github.com/eagleray/eagleray/core/resource"
	"github.com/eagleray/eagleray/core/wire"
)

// How often it is looked who holds how much memory of GPUs, while a worker has
// one; and while a worker must not exceed its share.
const (
	gpuLook        = time.Second
	gpuEnforceLook = 50 * time.Millisecond
)

// gpuWatch looks what the workers hold of the memory of NVIDIA GPUs.
type gpuWatch struct {
	open sync.Once
	lib  *gpus.Watcher // nil: none, see err
	err  error

	proof   sync.Mutex // of who finds out whether process ids are ours
	proven  bool       // guarded by the daemon's lock, as are those below
	refused string     // why they are not
	running bool
	wake    chan struct{} // look now: a worker came whose share is enforced
}

// gpuHold is a worker's part in it; the daemon's lock guards it.
type gpuHold struct {
	name    string   // of its task's function or its actor's class
	devices []string // that it was given
	share   int64    // bytes of each that it asked for, 0 if it did not
	enforce bool
	used    map[int]int64 // bytes by the driver's number of the device, as last seen
}

// nvml opens the library once.
func (d *Daemon) nvml() (*gpus.Watcher, error) {
	g := &d.gpus
	g.open.Do(func() {
		if g.lib, g.err = gpus.Start(d.o.GPUHelper, d.o.NVML); g.err != nil {
			d.log.Info("the memory of GPUs is not watched", "why", g.err)
		}
	})
	return g.lib, g.err
}

// watch notes what a worker was given and begins to look; mu held.
func (d *Daemon) watch(w *worker, hold *resource.Allocation, name string, enforce bool) {
	devices := hold.DeviceIDs()[resource.GPU]
	w.gpu = gpuHold{name: name, devices: devices, used: w.gpu.used}
	if len(devices) == 0 {
		return
	}
	w.gpu.share = int64(hold.Resources()[resource.GPUMemory] / resource.Unit)
	w.gpu.enforce = enforce && w.gpu.share > 0
	if !d.gpus.running && !d.closing {
		d.gpus.running = true
		go d.look()
	}
	if w.gpu.enforce {
		select {
		case d.gpus.wake <- struct{}{}:
		default:
		}
	}
}

// look runs while a worker has a GPU.
func (d *Daemon) look() {
	lib, err := d.nvml()
	if err != nil {
		return // and stays the one who looked
	}
	for {
		uses, err := lib.Uses()
		if err != nil {
			d.refuse("the memory of GPUs cannot be watched", err)
		}
		d.mu.Lock()
		every, any := d.account(uses)
		if !any || d.closing {
			d.gpus.running = false
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		select {
		case <-d.gpus.wake:
		case <-time.After(every):
		case <-d.stop:
			return
		}
	}
}

// account notes what workers hold and ends those that exceed their share. It
// returns when to look again, and whether any worker has a GPU; mu held.
func (d *Daemon) account(uses []gpus.Use) (every time.Duration, any bool) {
	every = gpuLook
	for _, w := range d.workers {
		w.gpu.used = nil
	}
	for _, u := range uses {
		w := d.ofPid(u.Pid)
		if w == nil {
			continue
		}
		if len(w.gpu.devices) > 0 && u.Pid == w.pid {
			d.gpus.proven = true
		}
		if w.gpu.used == nil {
			w.gpu.used = make(map[int]int64)
		}
		w.gpu.used[u.Device] += u.Bytes
	}
	for _, w := range d.workers {
		if len(w.gpu.devices) == 0 {
			continue
		}
		any = true
		if !w.gpu.enforce || w.exceeded != "" {
			continue
		}
		every = gpuEnforceLook
		for number, bytes := range w.gpu.used {
			if bytes > w.gpu.share {
				d.exceeds(w, number, bytes)
				break
			}
		}
	}
	return every, any
}

// exceeds ends a worker that holds more than its share; mu held.
func (d *Daemon) exceeds(w *worker, number int, bytes int64) {
	kind := "task"
	if w.actor != nil {
		kind = "actor"
	}
	w.excess = fault.GPUMemoryExceeded
	w.exceeded = fmt.Sprintf("%s %s held %s (%d bytes) of GPU %s, but asked for gpu_memory=%s; its worker, pid %d, was ended (gpu_memory_enforce=True)",
		kind, w.gpu.name, resource.FormatBytes(bytes), bytes, d.deviceName(w, number), resource.FormatBytes(w.gpu.share), w.pid)
	d.log.Warn("a worker exceeds its share of a GPU's memory", "pid", w.pid, "what", w.gpu.name, "used", bytes, "share", w.gpu.share)
	d.kill(w)
}

// ofPid returns the worker that a process is or, by its session, belongs to; mu held.
func (d *Daemon) ofPid(pid int) *worker {
	if w := d.pids[pid]; w != nil {
		return w
	}
	if sid, err := unix.Getsid(pid); err == nil && sid > 0 {
		return d.pids[sid]
	}
	return nil
}

// deviceName returns the id by which a worker was given the device with the
// driver's number.
func (d *Daemon) deviceName(w *worker, number int) string {
	name := strconv.Itoa(number)
	lib, _ := d.nvml()
	for _, device := range lib.Devices {
		if device.Index != number {
			continue
		}
		if i := slices.IndexFunc(w.gpu.devices, func(id string) bool { return id != "" && strings.HasPrefix(device.UUID, id) }); i >= 0 {
			return w.gpu.devices[i]
		}
	}
	return name
}

// gpuUses lists what workers hold, as last seen; mu held.
func (d *Daemon) gpuUses() []wire.GPUUse {
	var all []wire.GPUUse
	for _, w := range d.workers {
		for number, bytes := range w.gpu.used {
			all = append(all, wire.GPUUse{Pid: w.pid, Name: w.gpu.name, Device: d.deviceName(w, number), Bytes: bytes, Share: w.gpu.share})
		}
	}
	slices.SortFunc(all, func(a, b wire.GPUUse) int {
		if a.Pid != b.Pid {
			return a.Pid - b.Pid
		}
		return strings.Compare(a.Device, b.Device)
	})
	return all
}

// gpuUsed answers a worker what it holds now, -1 if nobody knows, -2 if nobody ever will.
func (d *Daemon) gpuUsed(c *client) int64 {
	lib, err := d.nvml()
	if err != nil || c.worker == nil {
		return -2
	}
	uses, err := lib.Uses()
	if err != nil {
		return -1
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var sum int64
	for _, u := range uses {
		if d.ofPid(u.Pid) == c.worker {
			sum += u.Bytes
			d.gpus.proven = true
		}
	}
	if !d.gpus.proven {
		return -1
	}
	return sum
}
