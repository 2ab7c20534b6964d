// Package fakecuda builds a stand-in for NVIDIA's driver, for tests on machines
// without a GPU: libcuda.so.1, libnvrtc.so.12 and libcublas.so.12.
//
// Device memory is host memory, and kernels run as code that g++ compiles from
// their source: the project's own kernels from kernels/src, and the user's
// kernels when the stand-in for NVRTC compiles them. So everything except
// NVIDIA's own code is the same as with a real device. Calls complete before
// they return; races between threads of a block and between streams do not
// show.
//
// Environment variables set it up, before the process starts the driver:
//
//	EAGLERAY_LIBCUDA, EAGLERAY_NVRTC, EAGLERAY_CUBLAS  the libraries to load (see Library)
//	EAGLERAY_FAKE_CUDA_DEVICES     how many devices there are; 1
//	EAGLERAY_FAKE_CUDA_UUIDS       their UUIDs, separated by commas
//	EAGLERAY_FAKE_CUDA_MEMORY      bytes of each; 256 MiB
//	EAGLERAY_FAKE_CUDA_CAPABILITY  compute capability times ten; 80
//	EAGLERAY_FAKE_CUDA_DRIVER      the driver's CUDA version; 12080
//	EAGLERAY_FAKE_CUDA_FAIL        calls that fail, such as cuMemAlloc_v2=2
//	EAGLERAY_FAKE_CUDA_REPORT      FILE: FILE.PID has what is allocated now, and double frees, overruns, bad handles
//
// CUDA_VISIBLE_DEVICES limits what a process sees, as it does with the driver.
// Outside Go tests, kernels/cuda/fakecuda/src/build.py builds the same libraries.
package fakecuda
