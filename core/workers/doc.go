// Package workers runs the processes of a node: the zygotes that fork workers, the
// workers' handles, what workers write, and what they leave behind when they end.
// It knows no scheduler and no leases: core/daemon decides which worker is started
// or ended, and hears what came of it through ZygoteEvents and callbacks.
//
// # The way of a worker's start
//
// OpenOutput makes the two pipes. Zygote.Fork sends their write ends with a token to
// the zygote, which forks. The zygote answers with the process id and a pidfd
// (ZygoteEvents.Forked), from which Watch or WatchHandle makes a Process. The
// worker shows the token when it connects. A zygote is a Python interpreter that
// has imported what the workers of one environment share (docs/protocol.md has
// its packets).
//
// # The way of a worker's end
//
// The pidfd becomes readable; Process.End has the exit status if the zygote has
// not waited for the process yet, else ZygoteEvents.Exited brings it. Orphans ends
// what the worker has started, Output.StderrTail tells what it wrote last.
//
// # Goroutines
//
// Two for each zygote and one for each of its output; two for each worker's output and
// one for its Process; one for the Reaper; one for each Sink while it has lines.
//
// # Locks
//
// Reaper.mu is held from the start of a zygote until its process id is known. Zygote.mu,
// Output.mu, Sink.mu and Orphans.mu guard the fields of their own struct; Output.mu is
// taken before Sink.mu. A callback is called with none of them held, except the
// sink's unsent. Callers may hold a lock of their own.
package workers
