package backend

import "unsafe"

// View is elements in a device's memory. Strides are in bytes and may be zero
// or negative; Ptr is element (0, …, 0). Empty arrays have a zero in Shape.
type View struct {
	Ptr     unsafe.Pointer
	DType   DType
	Shape   []int
	Strides []int
}

// Memory is one allocation on a device.
type Memory interface {
	Ptr() unsafe.Pointer
	Size() int
	// Free gives it back after the work that was queued before. A second Free
	// does nothing.
	Free() error
}

// Stream is an order of work; work on different streams may overlap. The nil
// Stream is the device's default one.
type Stream interface {
	Synchronize() error
	// Wait makes later work on the stream wait for the event.
	Wait(Event) error
	// Native is the driver's handle (CUstream), 0 where there is none.
	Native() uintptr
	Close() error
}

// Event is a point in a stream's work.
type Event interface {
	Synchronize() error
	Done() (bool, error)
	// Since is the time from an earlier event of the same device, in milliseconds.
	Since(earlier Event) (float64, error)
	Close() error
}

// Function is a kernel of the user's, compiled for a device.
type Function interface {
	// Launch queues it. Args are pointers to the argument values, in order, as
	// cuLaunchKernel takes them.
	Launch(s Stream, grid, block [3]int, shared int, args []unsafe.Pointer) error
	Close() error
}

// Info describes a device.
type Info struct {
	Name        string
	UUID        string // "" where there is none
	TotalMemory int64
	FreeMemory  int64
	Capability  [2]int // compute capability; zero where there is none
}

// Device runs kernels. Methods may be called from any goroutine. Calls with a
// Stream queue and return; the host sees results after Synchronize.
type Device interface {
	Info() (Info, error)
	Alloc(bytes int) (Memory, error) // *OutOfMemoryError
	NewStream() (Stream, error)
	NewEvent(s Stream) (Event, error) // recorded on s
	Synchronize() error

	// Upload and Download copy between the host and the device; both views
	// have the same shape and data type. They return when the host's memory
	// may be used again.
	Upload(s Stream, dst, src View) error
	Download(s Stream, dst, src View) error
	// Copy copies within the device and converts when the data types differ.
	// Overlapping views are copied as if through a temporary.
	Copy(s Stream, dst, src View) error

	Map(s Stream, p Program, out View, in ...View) error        // in[0] is x; out may be one of in
	Reduce(s Stream, op ReduceOp, out, in View, axis int) error // axis -1: all; else out lacks the axis
	Dot(s Stream, out, a, b View) error                         // one-dimensional, out has no dimension
	MatMul(s Stream, out, a, b View) error                      // two-dimensional, floating point
	Softmax(s Stream, out, in View, axis int) error             // floating point
	Compile(source, name string, options []string) (Function, error)

	// Export makes memory available to other processes of this node and device,
	// Import is its counterpart; *UnsupportedError where that cannot be.
	Export(m Memory) (handle []byte, err error)
	Import(handle []byte, size int) (Memory, error)
	// Adopt wraps memory that somebody else allocated and keeps alive.
	Adopt(ptr unsafe.Pointer, size int) Memory
}

// Backend is a kind of device.
type Backend interface {
	Name() string // "cpu", "cuda"
	// Count is how many devices this process sees, and why there is none.
	Count() (int, error)
	Open(index int) (Device, error)
}
