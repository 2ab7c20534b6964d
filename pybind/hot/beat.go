//go:build eagleray_hot

package main

// #include "beat.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"github.com/eagleray/eagleray/core/client"
)

// lendThread runs a session's beat on a thread of C.
func lendThread(b *client.Beat) bool {
	h := cgo.NewHandle(b)
	word := C.hot_beat_start(C.uintptr_t(h), C.int(b.Epoll), C.int(b.Bell))
	if word == nil {
		h.Delete()
		return false
	}
	b.Armed = (*uint32)(unsafe.Pointer(word))
	return true
}

//export HotBeat
func HotBeat(handle C.uintptr_t, out *C.hot_pause) {
	h := cgo.Handle(handle)
	p := h.Value().(*client.Beat).Turn()
	out.mode = C.int32_t(p.Mode)
	out.nap, out.quiet = C.int64_t(p.Nap), C.int64_t(p.Quiet)
	if p.Mode == client.BeatEnds {
		h.Delete()
	}
}
