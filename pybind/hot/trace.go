//go:build eagleray_hot

package main

// #include "hot.h"
import "C"

import "github.com/eagleray/eagleray/core/binding"

// C and Go number the stages alike; this does not compile when they do not.
var _ = [1]struct{}{}[C.TRACE_CALLED-binding.TraceCalled|C.TRACE_PACKED-binding.TracePacked|C.TRACE_RETURNED-binding.TraceReturned|C.TRACE_TAKEN-binding.TraceTaken|
	C.TRACE_ENCODED-binding.TraceEncoded|C.TRACE_FOUND-binding.TraceFound|C.TRACE_GIVEN-binding.TraceGiven]

// HotTrace is the ring that C stamps into, 0 when nothing is traced.
//
//export HotTrace
func HotTrace() C.uintptr_t { return C.uintptr_t(uintptr(binding.TraceRing())) }
