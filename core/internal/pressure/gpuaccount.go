package pressure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/gpus"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// account notes what the workers hold, and ends the workers that exceed their share. It
// returns when to look again, and whether any worker has a GPU. The lock is held.
func (g *GPUWatch) account(uses []gpus.Use) (every time.Duration, held bool) {
	every = gpuLook
	for _, h := range g.holds {
		h.used = nil
	}
	for _, u := range uses {
		id, pid, ok := g.workerOf(u.Pid)
		if !ok {
			continue
		}
		h := g.holds[id]
		if h == nil { // the worker was given nothing, and uses a GPU
			h = &hold{pid: pid}
			g.holds[id] = h
		}
		if len(h.devices) > 0 && u.Pid == pid {
			g.proven = true
		}
		if h.used == nil {
			h.used = make(map[int]int64)
		}
		h.used[u.Device] += u.Bytes
	}
	for _, id := range slices.Sorted(maps.Keys(g.holds)) {
		h := g.holds[id]
		if len(h.devices) == 0 {
			continue
		}
		held = true
		if !h.enforce || h.ended {
			continue
		}
		every = gpuEnforceLook
		if device, bytes, over := h.excess(); over {
			g.end(id, h, device, bytes)
		}
	}
	return every, held
}

// excess returns a device of which the worker holds more than its share, and how much.
func (h *hold) excess() (device int, bytes int64, over bool) {
	for _, device := range slices.Sorted(maps.Keys(h.used)) {
		if bytes := h.used[device]; bytes > h.share {
			return device, bytes, true
		}
	}
	return 0, 0, false
}

// end ends a worker that holds more than its share. The lock is held.
func (g *GPUWatch) end(id uint64, h *hold, device int, bytes int64) {
	h.ended = true
	text := fmt.Sprintf("%s %s held %s (%d bytes) of GPU %s, but asked for gpu_memory=%s; its worker, pid %d, was ended (gpu_memory_enforce=True)",
		h.kind, h.name, resource.FormatBytes(bytes), bytes, g.deviceName(h, device), resource.FormatBytes(h.share), h.pid)
	if g.c.Workers.EndNow(id, Ending{Code: fault.GPUMemoryExceeded, Text: text}) {
		g.c.Log.Warn("a worker exceeds its share of a GPU's memory", "pid", h.pid, "what", h.name, "used", bytes, "share", h.share)
	}
}

// workerOf returns the worker that a process is or, by its session, belongs to, and that
// worker's own process id. The lock is held.
func (g *GPUWatch) workerOf(process int) (id uint64, pid int, ok bool) {
	if id, ok = g.c.Workers.WorkerOf(process); ok {
		return id, process, true
	}
	session, err := unix.Getsid(process)
	if err != nil || session <= 0 {
		return 0, 0, false
	}
	id, ok = g.c.Workers.WorkerOf(session)
	return id, session, ok
}

// deviceName returns the id under which a worker was given a device; for a device that it
// was not given, the driver's number.
func (g *GPUWatch) deviceName(h *hold, number int) string {
	reader, err := g.open()
	if err != nil {
		return strconv.Itoa(number)
	}
	for _, device := range reader.Devices() {
		if device.Index != number {
			continue
		}
		if i := slices.IndexFunc(h.devices, func(id string) bool { return id != "" && strings.HasPrefix(device.UUID, id) }); i >= 0 {
			return h.devices[i]
		}
	}
	return strconv.Itoa(number)
}

// Uses lists what the workers hold, as last seen. The lock is held.
func (g *GPUWatch) Uses() []wire.GPUUse {
	var all []wire.GPUUse
	for _, h := range g.holds {
		for number, bytes := range h.used {
			all = append(all, wire.GPUUse{Pid: h.pid, Name: h.name, Device: g.deviceName(h, number), Bytes: bytes, Share: h.share})
		}
	}
	slices.SortFunc(all, func(a, b wire.GPUUse) int {
		return cmp.Or(cmp.Compare(a.Pid, b.Pid), strings.Compare(a.Device, b.Device))
	})
	return all
}

// What Held returns when it has no number of bytes.
const (
	Unknown   = -1 // nobody can tell now
	Unwatched = -2 // nobody will ever tell
)

// Held returns the bytes that a worker holds now of all GPUs together, or one of the
// constants above. The lock is not held.
func (g *GPUWatch) Held(worker uint64) int64 {
	reader, err := g.open()
	if err != nil {
		return Unwatched
	}
	uses, err := reader.Uses()
	if err != nil {
		return Unknown
	}
	g.c.Lock.Lock()
	defer g.c.Lock.Unlock()
	var sum int64
	for _, u := range uses {
		if id, _, ok := g.workerOf(u.Pid); ok && id == worker {
			sum += u.Bytes
			g.proven = true
		}
	}
	if !g.proven {
		return Unknown
	}
	return sum
}
