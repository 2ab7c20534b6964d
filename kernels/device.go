package kernels

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
	"github.com/eagleray/eagleray/kernels/cpu"
	"github.com/eagleray/eagleray/kernels/cuda"
)

// Device is a device that this process has opened.
type Device struct {
	name  string
	back  backend.Device
	host  bool // its memory is the host's
	zeros backend.Memory
}

// Info describes a device.
type Info = backend.Info

var (
	backends = []backend.Backend{cpu.Backend(), cuda.Backend()}
	opened   struct {
		sync.Mutex
		byName map[string]*Device
	}
)

// Devices are the names of the devices that this process sees: cpu, cuda:0, ….
func Devices() []string {
	names := []string{"cpu"}
	if n, err := backends[1].Count(); err == nil {
		for i := range n {
			names = append(names, "cuda:"+strconv.Itoa(i))
		}
	}
	return names
}

// Open returns the device with a name of Devices; cuda is cuda:0. There is one
// Device for each name and process; it is never closed.
func Open(name string) (*Device, error) {
	kind, digits, numbered := strings.Cut(name, ":")
	index := 0
	if numbered {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 {
			return nil, unknown(name)
		}
		index = n
	}
	for i, b := range backends {
		if b.Name() != kind {
			continue
		}
		n, err := b.Count()
		if err != nil {
			return nil, &DeviceError{"open", fmt.Sprintf("device %s: %v", name, err)}
		}
		if index >= n {
			return nil, unknown(name)
		}
		return open(b, index, i == 0)
	}
	return nil, unknown(name)
}

func unknown(name string) error {
	return &DeviceError{"open", fmt.Sprintf("there is no device %q; this process sees %s", name, strings.Join(Devices(), ", "))}
}

func open(b backend.Backend, index int, host bool) (*Device, error) {
	name := b.Name()
	if !host {
		name += ":" + strconv.Itoa(index)
	}
	opened.Lock()
	defer opened.Unlock()
	if d := opened.byName[name]; d != nil {
		return d, nil
	}
	back, err := b.Open(index)
	if err != nil {
		return nil, fmt.Errorf("open device %s: %w", name, err)
	}
	d := &Device{name: name, back: back, host: host}
	if d.zeros, err = back.Alloc(8); err != nil {
		return nil, fmt.Errorf("open device %s: %w", name, err)
	}
	var zero int64
	one := backend.View{DType: I64, Shape: []int{1}, Strides: []int{8}}
	src, dst := one, one
	src.Ptr, dst.Ptr = unsafe.Pointer(&zero), d.zeros.Ptr()
	if err := back.Upload(nil, dst, src); err != nil {
		return nil, errors.Join(fmt.Errorf("open device %s: %w", name, err), d.zeros.Free())
	}
	if opened.byName == nil {
		opened.byName = map[string]*Device{}
	}
	opened.byName[name] = d
	return d, nil
}

// CPU is the device that is always there.
func CPU() *Device {
	d, err := open(backends[0], 0, true)
	if err != nil {
		panic(err) // eight bytes of memory
	}
	return d
}

// Default is cuda:0 where this process sees a CUDA device that it can open,
// else cpu.
func Default() *Device {
	if n, err := backends[1].Count(); err == nil && n > 0 {
		if d, err := open(backends[1], 0, false); err == nil {
			return d
		}
	}
	return CPU()
}

// Name is the device's name: cpu, or cuda:N.
func (d *Device) Name() string { return d.name }

// Host reports whether the device's memory is the host's.
func (d *Device) Host() bool { return d.host }

// Info asks the device what it is and how much memory is free.
func (d *Device) Info() (Info, error) { return d.back.Info() }

// Synchronize waits for the work of all streams of the device.
func (d *Device) Synchronize() error { return d.back.Synchronize() }

// Backend is the device as the packages below know it, for callers that share
// memory between processes.
func (d *Device) Backend() backend.Device { return d.back }
