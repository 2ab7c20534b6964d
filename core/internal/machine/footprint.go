package machine

import "runtime"

// Footprint is what the Go runtime of this process has of memory, in bytes, and
// how many goroutines and collections there were. With collect it first frees
// what nobody refers to: what remains is held by something, and a table that
// only grows shows. That stops the process for some milliseconds: it is for
// tests and for looking into a session, not for its work.
func Footprint(collect bool) map[string]uint64 {
	if collect {
		// The first leaves what pools lend and what finalizers see.
		runtime.GC()
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return map[string]uint64{
		"heap_live":     m.HeapAlloc,
		"heap_objects":  m.HeapObjects,
		"heap_spans":    m.HeapInuse,
		"heap_idle":     m.HeapIdle - m.HeapReleased,
		"heap_released": m.HeapReleased,
		"stacks":        m.StackInuse,
		"runtime":       m.MSpanSys + m.MCacheSys + m.BuckHashSys + m.GCSys + m.OtherSys + m.StackSys - m.StackInuse,
		"collections":   uint64(m.NumGC),
		"goroutines":    uint64(runtime.NumGoroutine()),
	}
}
