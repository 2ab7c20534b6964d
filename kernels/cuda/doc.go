// Package cuda runs kernels on NVIDIA devices.
//
// It talks to the driver through gorgonia.org/cu, whose symbols package driver
// provides, and uses the device's primary context, so that its pointers are
// valid for other libraries in the process. The kernels are the PTX files in
// ptx, made from kernels/src by compile_ptx.py; a file is loaded when one of its
// kernels is first launched. NVRTC and cuBLAS are used where they can be
// loaded. Everything but this file and none.go needs the build tag cuda, which
// the Makefile and setup.py set; see docs/rationale.md.
package cuda
