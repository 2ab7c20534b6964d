//go:build eagleray_hot

package main

// #include "hot.h"
import "C"

import (
	"unsafe"

	"github.com/eagleray/eagleray/core/binding"
)

// What an actor's event loop waits with: see core/internal/executor/loop.go.

//export HotLoopStart
func HotLoopStart(fd C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err == nil {
		err = c.LoopStart(int(fd))
	}
	if err != nil {
		return give(err, e)
	}
	return ok
}

// HotLoopTake fills out, which has room for most items.
//
//export HotLoopTake
func HotLoopTake(most C.int, ms C.int64_t, out *C.hot_item, n, fired *C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	var few [16]*binding.Item
	items, yes := c.LoopTake(few[:0], int(most), millis(ms))
	if yes {
		*fired = 1
	}
	*n = C.int(len(items))
	for i, it := range items {
		fillItem(it, &unsafe.Slice(out, len(items))[i])
	}
	return ok
}
