package nodeprocess

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// accelerators are the node's devices as the daemon needs them.
type accelerators struct{ accelerator.Node }

var _ daemon.Devices = accelerators{}

// Variables for tests: a folder that stands for the file system in which devices
// are looked for, and the folders of vendor tools.
const (
	deviceRootVar  = "EAGLERAY_DEVICE_ROOT"
	deviceToolsVar = "EAGLERAY_DEVICE_TOOLS"
)

// Variables that name the vendor's libraries, for tests and unusual places.
const (
	nvmlVar = "EAGLERAY_NVML_LIBRARY"
	cudaVar = "EAGLERAY_CUDA_LIBRARY"
)

// helper is the program beside this one that opens those libraries.
func helper() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Join(filepath.Dir(self), "eagleray-gpu")
}

// devices detects the accelerators, or takes what was declared: GPUs by
// num_gpus, other families among the resources. extra are resources that come
// with them.
func (c *Config) devices(log *slog.Logger) (a accelerators, extra resource.Set, err error) {
	declared := make(map[string]float64)
	for name, n := range c.Resources {
		if accelerator.IsAccelerator(name) {
			declared[name] = n
		}
	}
	if c.NumGPUs != nil {
		declared["GPU"] = *c.NumGPUs
	}
	a.Node, err = accelerator.Detect(os.LookupEnv, accelerator.Options{
		Root: os.Getenv(deviceRootVar), ToolPath: os.Getenv(deviceToolsVar), GPUHelper: helper(), NVML: os.Getenv(nvmlVar), Declared: declared, GPUMemory: c.GPUMemory,
	})
	if err != nil {
		return a, nil, err
	}
	for _, note := range a.Notes {
		log.Warn("looking for accelerators: " + note)
	}
	return a, a.Resources(), nil
}
