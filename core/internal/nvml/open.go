package nvml

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// CUDALibrary is what the dynamic linker finds where there is a driver.
const CUDALibrary = "libcuda.so.1"

// OpenGPU makes this process one that uses a GPU, the first that it sees, so
// that the driver lists it. It stays one until it ends.
func OpenGPU(library string) error {
	if library == "" {
		library = CUDALibrary
	}
	so, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("CUDA: %w", err)
	}
	var initialise func(uint32) int32
	var retain func(*uintptr, int32) int32
	for name, f := range map[string]any{"cuInit": &initialise, "cuDevicePrimaryCtxRetain": &retain} {
		address, err := purego.Dlsym(so, name)
		if err != nil {
			return fmt.Errorf("CUDA lacks %s: %w", name, err)
		}
		purego.RegisterFunc(f, address)
	}
	if code := initialise(0); code != 0 {
		return fmt.Errorf("cuInit: error %d", code)
	}
	var context uintptr
	if code := retain(&context, 0); code != 0 {
		return fmt.Errorf("cuDevicePrimaryCtxRetain: error %d", code)
	}
	return nil
}
