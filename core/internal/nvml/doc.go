// Package nvml asks NVIDIA's management library which processes hold how much memory of
// which GPU, without cgo. Only the program eagleray-gpu links this package, because the
// package needs the dynamic linker. All other code asks that program (package gpus). On a
// machine without the library Open returns an error that says so.
package nvml
