// Package nvml asks NVIDIA's management library which processes hold how much
// memory of which GPU, without cgo. Only eagleray-gpu links it, for it needs the
// dynamic linker; everybody else asks that (package gpus). A machine without the
// library is no error: Open says so.
package nvml
