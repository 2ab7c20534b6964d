//go:build cuda && cgo

package cuda

// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// stagingSize is what a strided host view is gathered into or scattered from at
// a time. Tests make it less.
var stagingSize = 4 << 20

// staging is a piece of page-locked host memory, which the device reads and
// writes without the driver's copying it once more. It is made when needed.
type staging struct {
	mu  sync.Mutex
	mem unsafe.Pointer
}

// with lends the memory.
func (st *staging) with(d *Device, f func([]byte) error) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.mem == nil {
		err := d.do("cuMemHostAlloc", func() error { return check(C.er_host_alloc(&st.mem, C.size_t(stagingSize))) })
		if err != nil {
			return err
		}
	}
	return f(unsafe.Slice((*byte)(st.mem), stagingSize))
}

// Upload copies from the host. When it returns the host's memory may be used.
func (d *Device) Upload(s backend.Stream, dst, src backend.View) error {
	if elements(dst.Shape) == 0 {
		return nil
	}
	if isContiguous(dst) {
		return d.upload(s, dst.Ptr, src)
	}
	m, c, err := d.like(dst)
	if err != nil {
		return err
	}
	defer m.Free()
	if err := d.upload(s, c.Ptr, src); err != nil {
		return err
	}
	return d.copyApart(s, dst, c)
}

// Download copies to the host.
func (d *Device) Download(s backend.Stream, dst, src backend.View) error {
	if elements(dst.Shape) == 0 {
		return nil
	}
	if isContiguous(src) {
		return d.download(s, dst, src.Ptr)
	}
	m, c, err := d.duplicate(s, src)
	if err != nil {
		return err
	}
	defer m.Free()
	return d.download(s, dst, c.Ptr)
}

// upload fills contiguous device memory.
func (d *Device) upload(s backend.Stream, to unsafe.Pointer, src backend.View) error {
	return d.transfer(s, src, func(host unsafe.Pointer, offset, n int, on cu.Stream) error {
		return cu.MemcpyHtoDAsync(devicePtr(unsafe.Add(to, offset)), host, int64(n), on)
	}, gather, nil)
}

// download empties contiguous device memory.
func (d *Device) download(s backend.Stream, dst backend.View, from unsafe.Pointer) error {
	return d.transfer(s, dst, func(host unsafe.Pointer, offset, n int, on cu.Stream) error {
		return cu.MemcpyDtoHAsync(host, devicePtr(unsafe.Add(from, offset)), int64(n), on)
	}, nil, scatter)
}

// transfer moves a host view's elements, in order, with move: at once where
// they are contiguous, else by way of the staging memory.
func (d *Device) transfer(s backend.Stream, host backend.View,
	move func(host unsafe.Pointer, offset, n int, on cu.Stream) error,
	before, after func(staged []byte, v backend.View, first int),
) error {
	size := host.DType.Size()
	total := elements(host.Shape) * size
	return d.use(s, func(on cu.Stream) error {
		moveAndWait := func(p unsafe.Pointer, offset, n int) error {
			return d.do("copying between host and device", func() error {
				if err := move(p, offset, n, on); err != nil {
					return err
				}
				return on.Synchronize()
			})
		}
		if isContiguous(host) {
			return moveAndWait(host.Ptr, 0, total)
		}
		return d.staging.with(d, func(staged []byte) error {
			for offset := 0; offset < total; offset += stagingSize {
				part := staged[:min(stagingSize, total-offset)]
				if before != nil {
					before(part, host, offset/size)
				}
				if err := moveAndWait(unsafe.Pointer(&part[0]), offset, len(part)); err != nil {
					return err
				}
				if after != nil {
					after(part, host, offset/size)
				}
			}
			return nil
		})
	})
}
