//go:build eagleray_hot

package main

// #include "hot.h"
import "C"

import "unsafe"

// HotDeclareGroups names the concurrency groups of the actor in this process.
//
//export HotDeclareGroups
func HotDeclareGroups(names **C.char, n C.int64_t, serve C.int, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	found := make([]string, int(n))
	for i, p := range unsafe.Slice(names, int(n)) {
		found[i] = C.GoString(p)
	}
	var begin func()
	if serve != 0 {
		begin = func() { C.hot_serve_group() }
	}
	if err := c.DeclareGroups(found, begin); err != nil {
		return give(err, e)
	}
	return ok
}
