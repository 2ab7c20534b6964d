// Package trace stamps the stages of a call in each process, to show where the
// microseconds of the call go.
//
// Tracing is off unless EAGLERAY_TRACE names a folder. While it is off, a stage costs one
// branch on a plain global, On: no clock is read, nothing is allocated or called. While it
// is on, each process writes into a ring of its own, a mapped file of fixed size in that
// folder. A stamp is one clock reading, one atomic add and one store of 32 bytes, and it
// stays in the file however the process ends. When the ring is full, new stamps replace the
// oldest. The clock is CLOCK_MONOTONIC, the same in all processes of a machine, so stamps of
// driver and worker can be compared.
//
// A call is identified by the count of its first return and by four
// bytes of its owner's id; its frames carry both. Code that runs inside a call
// identifies the call by its token, which Taken ties to the call. The stamps of
// reads, writes and polls hold the time at which they began, and the stamps of
// calls hold the descriptor to which they were written.
//
// The C half of the hot path writes into the same ring, see pybind/hot/trace.c.
// `eagleray trace-report` reads the files [python/eagleray/_private/tools/trace_report.py];
// docs/performance.md has its table.
//
// The package imports nothing of the project and starts no goroutine. A process
// opens one ring, before its first session, and keeps it.
package trace
