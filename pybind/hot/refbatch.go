//go:build eagleray_hot

package main

// #include <stdlib.h>
// #include "hot.h"
import "C"

import (
	"unsafe"

	"github.com/eagleray/eagleray/core/binding"
)

// HotRefTable makes the table of references (malloc).
//
//export HotRefTable
func HotRefTable(list **C.uchar, n C.int64_t, table *unsafe.Pointer, size *C.int64_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	b, err := c.RefTable(idsAt(list, n))
	if err != nil {
		return give(err, e)
	}
	*table, *size = C.CBytes(b), C.int64_t(len(b))
	return ok
}

// HotImportAll counts the references of a table; from now on the batch is freed when
// the program has told that the last of them is gone.
//
//export HotImportAll
func HotImportAll(s *C.struct_ref_batch, table unsafe.Pointer, size C.int64_t, site C.uint32_t, e *C.hot_err) (r C.int) {
	defer guard(e, &r)
	c, err := current()
	if err != nil {
		return give(err, e)
	}
	half := binding.RefBatch{
		Dead: unsafe.Slice((*uint64)(unsafe.Add(unsafe.Pointer(s), unsafe.Sizeof(*s))), (int(s.n)+63)/64),
		Told: (*uint32)(unsafe.Pointer(&s.told)),
		Free: func() { C.free(unsafe.Pointer(s)) },
	}
	number, err := c.ImportAll(unsafe.Slice((*byte)(table), int(size)), uint32(site), half)
	if err != nil {
		return give(err, e)
	}
	s.number = C.uint64_t(number)
	return ok
}
