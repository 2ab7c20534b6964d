//go:build cuda && cgo

package cuda

import (
	"unsafe"

	"github.com/eagleray/eagleray/kernels/backend"
)

// gather copies the elements of a host view from index first on, in C order.
func gather(to []byte, from backend.View, first int) {
	walk(from, first, len(to), func(p unsafe.Pointer, offset, n int) {
		copy(to[offset:offset+n], unsafe.Slice((*byte)(p), n))
	})
}

// scatter is the opposite of gather.
func scatter(from []byte, to backend.View, first int) {
	walk(to, first, len(from), func(p unsafe.Pointer, offset, n int) {
		copy(unsafe.Slice((*byte)(p), n), from[offset:offset+n])
	})
}

// walk calls visit with runs of contiguous bytes of v, in C order, from element
// first on until total bytes have been visited.
func walk(v backend.View, first, total int, visit func(p unsafe.Pointer, offset, n int)) {
	size := v.DType.Size()
	run, inner := 1, len(v.Shape) // elements in a run, and where its dimensions begin
	for inner > 0 && (v.Shape[inner-1] == 1 || v.Strides[inner-1] == run*size) {
		inner--
		run *= v.Shape[inner]
	}
	// index counts over the outer dimensions; skip is where in its run first is.
	index, rest := make([]int, inner), first/run
	skip := first % run
	p := v.Ptr
	for d := inner - 1; d >= 0; d-- {
		index[d] = rest % v.Shape[d]
		rest /= v.Shape[d]
		p = unsafe.Add(p, index[d]*v.Strides[d])
	}
	for offset := 0; offset < total; {
		n := min((run-skip)*size, total-offset)
		visit(unsafe.Add(p, skip*size), offset, n)
		offset += n
		skip = 0
		for d := inner - 1; d >= 0; d-- {
			index[d]++
			if index[d] < v.Shape[d] {
				p = unsafe.Add(p, v.Strides[d])
				break
			}
			p = unsafe.Add(p, -(v.Shape[d]-1)*v.Strides[d])
			index[d] = 0
		}
	}
}
