package play

import (
	"strconv"
	"strings"
)

// GPUs is a number of devices whose variables are called as CUDA's.
type GPUs int

// Devices names them.
func (n GPUs) Devices() map[string][]string {
	var names []string
	for i := range int(n) {
		names = append(names, strconv.Itoa(i))
	}
	return map[string][]string{"GPU": names}
}

// Env gives the variables of a process that has some of them.
func (GPUs) Env(d map[string][]string) map[string]string {
	if len(d["GPU"]) == 0 {
		return nil
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(d["GPU"], ",")}
}

// ZeroEnv gives the variables that hide all devices from a process that has none.
func (GPUs) ZeroEnv(d map[string][]string) map[string]string {
	if len(d["GPU"]) > 0 {
		return nil
	}
	return map[string]string{"CUDA_VISIBLE_DEVICES": ""}
}

// IntIDs says that the devices are numbered.
func (GPUs) IntIDs() bool { return true }

// GPUMemory says that nothing is known of the devices' memory.
func (GPUs) GPUMemory() map[string]int64 { return nil }

// MemoryDeclared says that the devices' memory is not looked up.
func (GPUs) MemoryDeclared() bool { return true }
