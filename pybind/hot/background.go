//go:build eagleray_hot

package main

// #include "background.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"github.com/eagleray/eagleray/core/binding"
)

// lendThread runs a session's background poller on a thread of C.
func lendThread(b *binding.Background) bool {
	h := cgo.NewHandle(b)
	word := C.hot_background_start(C.uintptr_t(h), C.int(b.Epoll), C.int(b.Bell))
	if word == nil {
		h.Delete()
		return false
	}
	b.Armed = (*uint32)(unsafe.Pointer(word))
	return true
}

//export HotBackground
func HotBackground(handle C.uintptr_t, out *C.hot_pause) {
	h := cgo.Handle(handle)
	p := h.Value().(*binding.Background).Turn()
	out.mode = C.int32_t(p.Mode)
	out.nap, out.quiet = C.int64_t(p.Nap), C.int64_t(p.Quiet)
	if p.Mode == binding.BackgroundEnds {
		h.Delete()
	}
}
