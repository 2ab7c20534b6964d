// Package gpus tells what processes hold of the memory of NVIDIA GPUs. The
// driver's library lives in a process of its own, eagleray-gpu (package nvml):
// the daemon stays statically linked, and a library that crashes or hangs takes
// nobody along. They talk in lines of JSON; the process ends with its input.
//
// Process ids are those that the driver knows. In a container they may be the
// host's, or hidden: who uses them must check that they mean the processes that
// he knows.
package gpus

// Device is one GPU.
type Device struct {
	Index int
	UUID  string
	Bytes int64 // of memory in all
}

// Use is what one process holds of one device.
type Use struct {
	Pid    int
	Device int // index
	Bytes  int64
}

// Request is one line to eagleray-gpu.
type Request struct {
	UUID string // Bytes of this device; "": Uses
}

// Answer is one line from it; the first comes unasked and has the devices.
type Answer struct {
	Error   string
	Devices []Device
	Uses    []Use
	Bytes   int64
}
