package kernels

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// fake is a device apart from the cpu whose memory is the host's all the same.
// It records what is launched and which streams wait for which.
type fake struct {
	backend.Device
	mu       sync.Mutex
	log      []string
	streams  int
	launched []uint64
	freed    int
}

type fakeStream struct {
	backend.Stream
	f  *fake
	no int
}

type fakeEvent struct {
	backend.Event
	stream int
}

type fakeFunction struct{ f *fake }

type fakeMemory struct {
	backend.Memory
	f *fake
}

func (m fakeMemory) Free() error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.freed++
	return m.Memory.Free()
}

func fakeDevice(t *testing.T) *Device {
	t.Helper()
	f := &fake{Device: CPU().back}
	d := &Device{name: "fake:0", back: f}
	d.zeros = must(f.Device.Alloc(8))(t)
	*(*int64)(d.zeros.Ptr()) = 0
	return d
}

func (f *fake) Alloc(n int) (backend.Memory, error) {
	m, err := f.Device.Alloc(n)
	return fakeMemory{m, f}, err
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

func streamNo(s backend.Stream) int {
	if s == nil {
		return 0
	}
	return s.(fakeStream).no
}

func (f *fake) NewStream() (backend.Stream, error) {
	f.streams++
	return fakeStream{f: f, no: f.streams}, nil
}

func (f *fake) NewEvent(s backend.Stream) (backend.Event, error) {
	return fakeEvent{stream: streamNo(s)}, nil
}
func (f *fake) Map(s backend.Stream, p backend.Program, out backend.View, in ...backend.View) error {
	f.note("map on %d", streamNo(s))
	return f.Device.Map(nil, p, out, in...)
}
func (f *fake) Compile(_, name string, _ []string) (backend.Function, error) {
	if name == "broken" {
		return nil, &backend.CompileError{Name: name, Log: "line 1: no"}
	}
	return fakeFunction{f}, nil
}

func (e fakeEvent) Close() error        { return nil }
func (s fakeStream) Close() error       { return nil }
func (s fakeStream) Synchronize() error { return nil }
func (s fakeStream) Native() uintptr    { return uintptr(s.no) }
func (s fakeStream) Wait(e backend.Event) error {
	s.f.note("%d waits for %d", s.no, e.(fakeEvent).stream)
	return nil
}

func (fakeFunction) Close() error { return nil }
func (k fakeFunction) Launch(s backend.Stream, grid, block [3]int, shared int, args []unsafe.Pointer) error {
	k.f.note("launch on %d", streamNo(s))
	k.f.launched = nil
	for _, a := range args {
		k.f.launched = append(k.f.launched, *(*uint64)(a))
	}
	return nil
}
