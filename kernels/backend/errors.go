package backend

import "fmt"

// OutOfMemoryError says that a device has no room for an allocation.
type OutOfMemoryError struct {
	Device      string
	Asked       int64
	Free, Total int64 // bytes; zero where unknown
}

func (e *OutOfMemoryError) Error() string {
	s := fmt.Sprintf("%s: out of memory: asked for %d bytes", e.Device, e.Asked)
	if e.Total > 0 {
		s += fmt.Sprintf(", %d of %d are free", e.Free, e.Total)
	}
	return s
}

// UnsupportedError says what a device or this build cannot do.
type UnsupportedError struct{ Device, What, Why string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s: %s is not possible: %s", e.Device, e.What, e.Why)
}

// CompileError carries the compiler's log.
type CompileError struct{ Name, Log string }

func (e *CompileError) Error() string {
	return fmt.Sprintf("kernel %s does not compile:\n%s", e.Name, e.Log)
}

// DriverError is an answer of the device's driver that has no type of its own.
type DriverError struct {
	Device, Call string
	Code         int
	Text         string
}

func (e *DriverError) Error() string {
	return fmt.Sprintf("%s: %s: %s (%d)", e.Device, e.Call, e.Text, e.Code)
}
