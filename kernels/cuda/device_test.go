//go:build cuda && cgo

package cuda

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

func TestOpenGivesOneDevice(t *testing.T) {
	d := device(t)
	again, err := Backend().Open(0)
	must(t, err)
	if again != backend.Device(d) {
		t.Error("a second Open gave another device")
	}
	for _, index := range []int{-1, 1000} {
		var unsupported *backend.UnsupportedError
		if _, err := Backend().Open(index); !errors.As(err, &unsupported) {
			t.Errorf("Open(%d): %v", index, err)
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	d := device(t)
	info, err := d.Info()
	must(t, err)
	var full *backend.OutOfMemoryError
	if _, err := d.Alloc(int(info.TotalMemory) + 1); !errors.As(err, &full) {
		t.Fatalf("%v", err)
	}
	if full.Asked != info.TotalMemory+1 || full.Total != info.TotalMemory || full.Free <= 0 || full.Device != "cuda:0" {
		t.Errorf("%+v", full)
	}
	m, err := d.Alloc(int(info.FreeMemory) / 2) // and the device still works
	must(t, err)
	must(t, m.Free())
	must(t, m.Free())
}

func TestEmptyMemory(t *testing.T) {
	d := device(t)
	m, err := d.Alloc(0)
	must(t, err)
	must(t, m.Free())
	v := view(t, d, backend.F32, 0, 3)
	must(t, d.Map(nil, backend.Program{{Op: backend.Exp}}, v, v))
	must(t, d.Upload(nil, v, v))
	must(t, d.Softmax(nil, v, v, 1))
}

func TestAdoptedMemoryIsNotFreed(t *testing.T) {
	d := device(t)
	v := view(t, d, backend.U8, 64)
	m := d.Adopt(v.Ptr, 64)
	if m.Ptr() != v.Ptr || m.Size() != 64 {
		t.Errorf("%v %d", m.Ptr(), m.Size())
	}
	must(t, m.Free())
	must(t, d.Map(nil, backend.Program{{Op: backend.Scale, S: 0}}, v, v))
}

func TestStreamsAndEvents(t *testing.T) {
	d := device(t)
	s, err := d.NewStream()
	must(t, err)
	if s.Native() == 0 {
		t.Error("the stream has no handle")
	}
	v := view(t, d, backend.F32, 100)
	must(t, d.Map(s, backend.Program{{Op: backend.Scale, S: 0}}, v, v))
	first, err := d.NewEvent(s)
	must(t, err)
	must(t, d.Map(s, backend.Program{{Op: backend.AddS, S: 3}}, v, v))
	second, err := d.NewEvent(s)
	must(t, err)
	other, err := d.NewStream()
	must(t, err)
	must(t, other.Wait(second))
	must(t, second.Synchronize())
	if done, err := first.Done(); err != nil || !done {
		t.Errorf("%v %v", done, err)
	}
	if ms, err := second.Since(first); err != nil || ms < 0 {
		t.Errorf("%v %v", ms, err)
	}
	got := make([]float32, 100)
	must(t, d.Download(other, host(backend.F32, got, 100), v))
	must(t, s.Synchronize())
	must(t, d.Synchronize())
	for range 2 {
		must(t, first.Close())
		must(t, second.Close())
		must(t, s.Close())
		must(t, other.Close())
	}
	for what, err := range map[string]error{
		"synchronizing a stream": s.Synchronize(), "waiting": other.Wait(second), "launching": d.Map(s, nil, v, v),
		"synchronizing an event": first.Synchronize(), "uploading": d.Upload(s, v, host(backend.F32, got, 100)),
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s after closing: %v", what, err)
		}
	}
}

func TestGoroutinesShareADevice(t *testing.T) {
	d := device(t)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			s, err := d.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 20 {
				n := 1 + r.IntN(3000)
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(g)
				}
				m, err := d.Alloc(4 * n)
				if err != nil {
					t.Error(err)
					return
				}
				v := backend.View{Ptr: m.Ptr(), DType: backend.F32, Shape: []int{n}, Strides: []int{4}}
				err = errors.Join(d.Upload(s, v, host(backend.F32, x, n)), d.Map(s, backend.Program{{Op: backend.Scale, S: 2}}, v, v),
					d.Download(s, host(backend.F32, x, n), v), m.Free())
				if err != nil || x[n-1] != float32(2*g) {
					t.Error(err, x[n-1])
				}
			}
		})
	}
	group.Wait()
}

func TestContextOfTheCallerIsRestored(t *testing.T) {
	d := device(t)
	if n := unsafe.Sizeof(d.context); n != unsafe.Sizeof(uintptr(0)) {
		t.Fatalf("a context is %d bytes", n)
	}
	must(t, onThread(func() error {
		before, err := currentContext()
		if err != nil {
			return err
		}
		v := view(t, d, backend.F32, 10)
		if err := d.Map(nil, backend.Program{{Op: backend.Relu}}, v, v); err != nil {
			return err
		}
		if after, err := currentContext(); err != nil || after != before {
			t.Errorf("the context was %x and is %x (%v)", before, after, err)
		}
		return nil
	}))
}
