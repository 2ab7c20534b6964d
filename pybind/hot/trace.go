//go:build eagleray_hot

package main

// #include "hot.h"
import "C"

import "github.com/eagleray/eagleray/core/trace"

// C and Go number the stages alike; this does not compile when they do not.
var _ = [1]struct{}{}[C.TRACE_CALLED-trace.Called|C.TRACE_PACKED-trace.Packed|C.TRACE_RETURNED-trace.Returned|C.TRACE_TAKEN-trace.Taken|
	C.TRACE_ENCODED-trace.Encoded|C.TRACE_FOUND-trace.Found|C.TRACE_GIVEN-trace.Given]

// HotTrace is the ring that C stamps into, 0 when nothing is traced.
//
//export HotTrace
func HotTrace() C.uintptr_t { return C.uintptr_t(uintptr(trace.Ring())) }
