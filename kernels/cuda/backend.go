//go:build cuda && cgo

package cuda

import (
	"fmt"
	"sync"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
	"github.com/eagleray/eagleray/kernels/cuda/driver"
)

// The PTX that is embedded is of CUDA 12.0.
const minDriver = 12000

type cudaBackend struct{}

// Backend is the CUDA back end.
func Backend() backend.Backend { return cudaBackend{} }

func (cudaBackend) Name() string { return "cuda" }

// count asks the driver once: what a process sees is settled when the driver starts.
var count = sync.OnceValues(func() (int, error) {
	if err := driver.Load(); err != nil {
		return 0, err
	}
	if v := cu.Version(); v < minDriver {
		return 0, fmt.Errorf("the NVIDIA driver is too old: it has CUDA %d.%d, and 12.0 (driver 525) is needed", v/1000, v%1000/10)
	}
	n, err := cu.NumDevices()
	if err != nil {
		return 0, failure("cuda", "cuDeviceGetCount", err)
	}
	return n, nil
})

func (cudaBackend) Count() (int, error) { return count() }

var devices struct {
	sync.Mutex
	open map[int]*Device
}

// Open gives the one Device of a process for the index.
func (cudaBackend) Open(index int) (backend.Device, error) {
	n, err := count()
	if err != nil {
		return nil, &backend.UnsupportedError{Device: deviceName(index), What: "opening it", Why: err.Error()}
	}
	if index < 0 || index >= n {
		return nil, &backend.UnsupportedError{Device: deviceName(index), What: "opening it", Why: fmt.Sprintf("this process sees %d CUDA devices", n)}
	}
	devices.Lock()
	defer devices.Unlock()
	if d := devices.open[index]; d != nil {
		return d, nil
	}
	d, err := open(index)
	if err != nil {
		return nil, err
	}
	if devices.open == nil {
		devices.open = map[int]*Device{}
	}
	devices.open[index] = d
	return d, nil
}

func deviceName(index int) string { return fmt.Sprintf("cuda:%d", index) }
