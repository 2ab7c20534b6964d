//go:build eagleray_hot

package main

import (
	"sync"
	"sync/atomic"

	"github.com/eagleray/eagleray/kernels"
)

// resource is what a Python object of _kern owns.
type resource struct {
	array  *kernels.Array
	stream *kernels.Stream
	event  *kernels.Event
	kernel *kernels.Kernel
}

func (r *resource) close() {
	switch {
	case r.array != nil:
		_ = r.array.Free()
	case r.stream != nil:
		_ = r.stream.Close()
	case r.event != nil:
		_ = r.event.Close()
	case r.kernel != nil:
		_ = r.kernel.Close()
	}
}

const (
	chunkSize = 1024
	maxChunks = 1 << 14
)

// table numbers the resources that Python holds. Reading takes no lock: a
// number belongs to one Python object from its making to its end.
type table struct {
	chunks [maxChunks]atomic.Pointer[[chunkSize]atomic.Pointer[resource]]

	mu   sync.Mutex
	free []uint64
	next uint64
}

var held = table{next: 1} // 0 is no handle

func (t *table) add(r *resource) (uint64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.next
	if n := len(t.free); n > 0 {
		h = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		if h/chunkSize >= maxChunks {
			return 0, false
		}
		t.next++
	}
	c := t.chunks[h/chunkSize].Load()
	if c == nil {
		c = new([chunkSize]atomic.Pointer[resource])
		t.chunks[h/chunkSize].Store(c)
	}
	c[h%chunkSize].Store(r)
	return h, true
}

func (t *table) get(h uint64) *resource {
	if h == 0 || h/chunkSize >= maxChunks {
		return nil
	}
	c := t.chunks[h/chunkSize].Load()
	if c == nil {
		return nil
	}
	return c[h%chunkSize].Load()
}

// take removes a resource; its number may be given again.
func (t *table) take(h uint64) *resource {
	r := t.get(h)
	if r == nil {
		return nil
	}
	t.chunks[h/chunkSize].Load()[h%chunkSize].Store(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free = append(t.free, h)
	return r
}
