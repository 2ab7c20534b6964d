//go:build cuda && cgo

package cuda

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/eagleray/eagleray/kernels/backend"
)

// Map queues a chain of elementwise steps.
func (d *Device) Map(s backend.Stream, p backend.Program, out backend.View, in ...backend.View) error {
	if elements(out.Shape) == 0 {
		return nil
	}
	in, release, err := d.apart(s, out, in)
	if err != nil {
		return err
	}
	defer release()
	views := append(make([]backend.View, 0, 4), out)
	views = append(views, in...)
	if flat := flatten(views); flat {
		return d.mapViews(s, p, views)
	}
	strides := make([][]int, len(views))
	for i, v := range views {
		strides[i] = v.Strides
	}
	dims, strides := simplify(out.Shape, strides...)
	for i := range views {
		views[i].Shape, views[i].Strides = dims, strides[i]
	}
	return eachSlice(views, func(views []backend.View) error { return d.mapViews(s, p, views) })
}

// flatten makes all views one-dimensional, if all are contiguous: the case that
// is to be quick.
func flatten(views []backend.View) bool {
	for _, v := range views {
		if !isContiguous(v) {
			return false
		}
	}
	line := [2]int{elements(views[0].Shape), views[0].DType.Size()}
	for i := range views {
		views[i].Shape, views[i].Strides = line[:1], line[1:]
	}
	return true
}

// apart copies those inputs that share memory with the output without being it:
// a block would read what another one has written.
func (d *Device) apart(s backend.Stream, out backend.View, in []backend.View) ([]backend.View, func(), error) {
	if !slices.ContainsFunc(in, func(v backend.View) bool { return overlap(out, v) && !same(out, v) }) {
		return in, func() {}, nil
	}
	var copies []*memory
	release := func() {
		for _, m := range copies {
			_ = m.Free() // an error of the stream comes with its next call
		}
	}
	apart := append([]backend.View(nil), in...)
	for i, v := range apart {
		if !overlap(out, v) || same(out, v) {
			continue
		}
		m, c, err := d.duplicate(s, v)
		if err != nil {
			release()
			return nil, nil, err
		}
		copies, apart[i] = append(copies, m), c
	}
	return apart, release, nil
}

// params are reused: one is larger than a kilobyte, and the driver copies it.
var params = sync.Pool{New: func() any { return new(mapParams) }}

func (d *Device) mapViews(s backend.Stream, p backend.Program, views []backend.View) error {
	dims, size := views[0].Shape, views[0].DType.Size()
	n := elements(dims)
	m := params.Get().(*mapParams)
	defer params.Put(m)
	m.n, m.operands, m.steps, m.vector = int64(n), int64(len(views)), int64(len(p)), 0
	m.shape, m.more = shapeOf(dims), 0
	words := m.table[:0]
	vector := len(dims) == 1
	for i, v := range views {
		o := operandOf(v.Ptr, v.Strides)
		words = append(words, (*[operandWords]uint64)(unsafe.Pointer(&o))[:]...)
		vector = vector && (v.Strides[0] == size && uintptr(v.Ptr)%16 == 0 || i > 0 && v.Strides[0] == 0)
	}
	for _, step := range p {
		y := 0
		if step.In > 0 {
			y = step.In + 1
		}
		words = append(words, uint64(step.Op)|uint64(y)<<32, math.Float64bits(step.S), math.Float64bits(step.T))
	}
	work := n
	if vector {
		m.vector = 1
		work = max(n*size/16, 1)
	}
	if len(words) > tableWords {
		table, err := d.table(words)
		if err != nil {
			return err
		}
		defer table.Free() // waits for the launch
		m.more = uintptr(table.ptr)
	}
	return d.launch(s, "map", suffixes[views[0].DType], d.blocks(work), unsafe.Pointer(m))
}

// table puts words into device memory.
func (d *Device) table(words []uint64) (*memory, error) {
	m, err := d.alloc(len(words) * 8)
	if err != nil {
		return nil, err
	}
	err = d.do("cuMemcpyHtoD", func() error {
		return cu.MemcpyHtoD(m.ptr, unsafe.Pointer(&words[0]), int64(len(words)*8))
	})
	if err != nil {
		_ = m.Free()
		return nil, err
	}
	return m, nil
}

// eachSlice runs f on views that have no more dimensions than kernels take. All
// have the same shape.
func eachSlice(views []backend.View, f func([]backend.View) error) error {
	if len(views[0].Shape) <= maxRank {
		return f(views)
	}
	slice := make([]backend.View, len(views))
	for i := range views[0].Shape[0] {
		for j, v := range views {
			slice[j] = at(v, i)
		}
		if err := eachSlice(slice, f); err != nil {
			return err
		}
	}
	return nil
}
