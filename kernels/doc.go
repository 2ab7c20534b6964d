// Package kernels has arrays in the memory of a device and operations on them,
// for the CPU (package cpu) and for NVIDIA devices (package cuda).
//
// An [Array] is a counted view of one allocation. Views made with Slice,
// Reshape, Transpose or Broadcast share the memory, which goes back when the
// last of them is freed. An operation holds the memory of its arrays until it
// has queued its work, so Free at the same time is safe and later use is
// [ErrClosed]. The garbage collector frees what a program forgot.
//
// Semantics are numpy's: broadcasting, NaN and infinities, empty arrays, any
// strides, integers that wrap around. These differ:
//   - arrays of different data types are never mixed: a *[DTypeError] says to
//     cast;
//   - the sum of integers is I64, of every integer type;
//   - a cast from floating point to an integer rounds towards zero and
//     saturates, and NaN becomes 0: numpy leaves both to the machine;
//   - F16 and BF16 are computed in float32, and a fused chain rounds once, at
//     its end; sums of F32 accumulate in float64.
//
// Operations queue their work on a stream: the default one of the device, or
// the one that an array was bound to with [Array.On]. Operations that copy to
// the host (CopyTo, ToSlice, To a cpu device) wait for the work before them.
// The cpu device does its work at once.
//
// All functions may be called from any goroutine. Writing to an array while
// another goroutine uses its elements gives undefined elements, never a crash.
//
// # Back ends
//
// A backend.Device runs the work. cpu is C with SIMD, built for three instruction sets, of
// which one is chosen at load. cuda uses the driver API on the device's primary context.
// Both take the same programs of elementwise steps, so a chain of operations is one pass.
// No driver is linked: each symbol of the driver is a trampoline to dlopen, so one build
// serves machines with and without a driver. The PTX of kernels/src is embedded; make
// check builds it again and compares. Tests run the same sources on the host, behind a
// stand-in for libcuda.so.1 (cuda/fakecuda).
//
// Python's Array is a class of the C extension pybind/kern. An array that travels is
// pickled with a reference that pins it in its process: a receiver on the same device maps
// it (CUDA IPC), any other receiver takes the copy in the object store. The daemon never
// links this package.
package kernels
