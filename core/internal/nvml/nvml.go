package nvml

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/eagleray/eagleray/core/internal/gpus"
)

// DefaultLibrary is what the dynamic linker finds where there is a driver.
const DefaultLibrary = "libnvidia-ml.so.1"

// The library's answers that matter here.
const (
	success          = 0
	insufficientSize = 7
)

// notAvailable is the memory of a process where the driver does not tell.
const notAvailable = ^uint64(0)

// processInfo is nvmlProcessInfo_t of the functions with _v2 and _v3.
type processInfo struct {
	pid             uint32
	_               uint32
	used            uint64
	gpuInstance     uint32
	computeInstance uint32
}

// memoryInfo is nvmlMemory_t.
type memoryInfo struct {
	total uint64
	_, _  uint64 // free, used
}

// device is a GPU by the library's own handle.
type device struct {
	gpus.Device
	handle uintptr
}

// Library is the opened library. Its methods may be called by anyone.
type Library struct {
	mu        sync.Mutex
	devices   []device
	byUUID    func(uuid string, device *uintptr) int32
	memory    func(device uintptr, m *memoryInfo) int32
	processes []func(device uintptr, count *uint32, infos unsafe.Pointer) int32
	buffer    []processInfo
}

// Open loads the library, by its path or DefaultLibrary, and finds the devices.
func Open(path string) (*Library, error) {
	if path == "" {
		path = DefaultLibrary
	}
	so, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("NVML, the library with which NVIDIA GPUs are watched: %w", err)
	}
	var initialise func() int32
	var deviceCount func(*uint32) int32
	var deviceByIndex func(uint32, *uintptr) int32
	var deviceUUID func(uintptr, *byte, uint32) int32
	l := &Library{buffer: make([]processInfo, 64)}
	err = errors.Join(
		bind(so, &initialise, "nvmlInit_v2"), bind(so, &deviceCount, "nvmlDeviceGetCount_v2"),
		bind(so, &deviceByIndex, "nvmlDeviceGetHandleByIndex_v2"), bind(so, &l.memory, "nvmlDeviceGetMemoryInfo"), bind(so, &l.byUUID, "nvmlDeviceGetHandleByUUID"),
		bind(so, &deviceUUID, "nvmlDeviceGetUUID"),
	)
	if err != nil {
		return nil, err
	}
	// Drawing and computing are listed apart; a process may be in both lists.
	for _, kind := range []string{"Compute", "Graphics"} {
		var f func(uintptr, *uint32, unsafe.Pointer) int32
		for _, version := range []string{"_v3", "_v2"} {
			if bind(so, &f, "nvmlDeviceGet"+kind+"RunningProcesses"+version) == nil {
				l.processes = append(l.processes, f)
				break
			}
		}
	}
	if len(l.processes) == 0 {
		return nil, errors.New("NVML does not list processes: the driver is too old")
	}
	if code := initialise(); code != success {
		return nil, fmt.Errorf("NVML does not start: error %d; is the driver loaded?", code)
	}
	var n uint32
	if code := deviceCount(&n); code != success {
		return nil, fmt.Errorf("NVML does not count the devices: error %d", code)
	}
	for i := range n {
		d := device{Device: gpus.Device{Index: int(i)}}
		if deviceByIndex(i, &d.handle) != success {
			continue // lost, or not ours
		}
		d.Bytes = l.bytes(d.handle)
		var uuid [96]byte
		if deviceUUID(d.handle, &uuid[0], uint32(len(uuid))) == success {
			d.UUID = text(uuid[:])
		}
		l.devices = append(l.devices, d)
	}
	return l, nil
}

func (l *Library) bytes(device uintptr) int64 {
	var m memoryInfo
	if l.memory(device, &m) != success {
		return 0
	}
	return int64(m.total)
}

// Bytes returns the memory of a device, or a part of one (MIG), with a UUID; 0
// if it is not known.
func (l *Library) Bytes(uuid string) int64 {
	var device uintptr
	if l.byUUID(uuid, &device) != success {
		return 0
	}
	return l.bytes(device)
}

// bind sets a function of the library; purego panics where there is none.
func bind[F any](so uintptr, f *F, name string) error {
	address, err := purego.Dlsym(so, name)
	if err != nil {
		return fmt.Errorf("NVML lacks %s: %w", name, err)
	}
	purego.RegisterFunc(f, address)
	return nil
}

func text(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Devices lists the GPUs in the order of their indices.
func (l *Library) Devices() []gpus.Device {
	all := make([]gpus.Device, len(l.devices))
	for i, d := range l.devices {
		all[i] = d.Device
	}
	return all
}

// Uses lists what processes hold, of all devices. A process is listed once for
// each device; one of which the driver does not tell the memory is left out.
func (l *Library) Uses() ([]gpus.Use, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type key struct{ pid, device int }
	most := make(map[key]int64)
	var order []key
	for _, d := range l.devices {
		for _, list := range l.processes {
			infos, err := l.list(d, list)
			if err != nil {
				return nil, err
			}
			for _, p := range infos {
				if p.used == notAvailable {
					continue
				}
				k := key{int(p.pid), d.Index}
				if _, ok := most[k]; !ok {
					order = append(order, k)
				}
				most[k] = max(most[k], int64(p.used))
			}
		}
	}
	uses := make([]gpus.Use, len(order))
	for i, k := range order {
		uses[i] = gpus.Use{Pid: k.pid, Device: k.device, Bytes: most[k]}
	}
	return uses, nil
}

// list asks once more with more room when there was too little.
func (l *Library) list(d device, f func(uintptr, *uint32, unsafe.Pointer) int32) ([]processInfo, error) {
	for range 4 {
		n := uint32(len(l.buffer))
		switch code := f(d.handle, &n, unsafe.Pointer(&l.buffer[0])); code {
		case success:
			return l.buffer[:n], nil
		case insufficientSize:
			l.buffer = make([]processInfo, 2*max(int(n), len(l.buffer)))
		default:
			return nil, fmt.Errorf("NVML does not list the processes of GPU %d: error %d", d.Index, code)
		}
	}
	return nil, fmt.Errorf("NVML does not list the processes of GPU %d: it always wants more room", d.Index)
}
