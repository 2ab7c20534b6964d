// Package driver stands between gorgonia.org/cu and NVIDIA's driver library.
//
// cu links to libcuda, calls cuInit when the process starts and exits the
// process when that fails. Here every cu* symbol is a trampoline that opens
// libcuda.so.1 when it is first used, and cuInit does nothing: one binary works
// on machines with and without a driver, and the driver reads
// CUDA_VISIBLE_DEVICES when the first array is made, not when the process
// starts. EAGLERAY_LIBCUDA names another library.
//
// Building it takes the tag cuda and NVIDIA's cuda.h; see cuda_files in setup.py.
package driver
