// Package workers runs the worker processes of a node. Table knows each worker and
// the stage that it has reached. It starts workers, ends them, and reports how
// they ended. The other types are parts of that: the zygotes that fork workers,
// the handles of processes, what workers write, and what they leave behind when
// they end.
//
// The package knows no scheduler, no leases and no tasks. Its owner, core/internal/daemon,
// decides which worker is started or ended. The package reports each worker's progress
// to its owner through Events. Job has what belongs to one job: its environments, and
// where the output of its workers goes.
//
// # How a worker starts
//
// Table.Add makes the worker and its token, and Table.Start orders its fork from the
// zygote of its environment, which is started if there is none. A zygote is a Python
// interpreter that has imported what the workers of one environment share
// (docs/protocol.md has its packets). OpenOutput makes two pipes, and Zygote.Fork sends
// their write ends with the token to the zygote, which forks. The zygote answers with
// the process id and a pidfd (ZygoteEvents.Forked). The worker shows the token when it
// connects (Claim, Connected), and says when it can take work (SetReady).
//
// When a zygote dies, the forks that it owed are ordered from another one. A worker
// that does not come up is reported by Events.Failed.
//
// # Zygotes
//
// A zygote runs eagleray._private.worker.zygote in a session of its own. It has one thread
// and never runs Go. It gets its setup in a memfd, sets the driver's environment, sys.path
// and folder, imports the package, numpy where the driver can find it, and pandas and
// numba where the driver has imported them, freezes the garbage collector's objects, and
// forks on order.
//
// The zygote loads the library with the Go core without starting Go: the linker puts Go's
// initialiser where the loader does not run it (pybind/hot/late.c). Each worker starts Go
// after its fork. The pages that every worker writes to are copied at the fork, all at
// once: the first worker of a zygote records which ones these are (pybind/hot/warm.c).
// Before its first fork the zygote does what workers do first, so that the interpreter has
// specialised that code (_private/worker/warmup.py).
//
// A process with threads cannot be forked safely, so libraries that start threads at their
// import are held to one thread meanwhile. A zygote that finds a second thread waits 0.3 s
// for its end. Then it starts again in the same process: as a bare zygote, without modules
// of third parties, or as a plain one (python -S), without the interpreter's start hooks,
// which its workers then run. The user is told once which library has started which thread
// (_private/worker/zygote_threads.py). A runtime environment that sets variables which
// libraries read at their import gets a bare zygote, too.
//
// In the child (_private/worker/startup.py) output goes to the daemon's pipes, random
// generators are seeded anew, and Go starts with at most four processors. The command line
// of a worker shows what it runs (pybind/hot/title.c).
//
// Idle processes give back memory: a zygote before it forks, a worker after a second, the
// driver after init, the daemon between requests. Pages of code and constants come back
// from their files when they are used (pybind/hot/trim.c, core/internal/machine/code.go).
//
// # How a worker ends
//
// End, EndWithJob, EndUnlessNeeded and ExpectEnd give a worker some time to end by
// itself; Kill does not. A worker that is to be killed before its process is known is
// killed as soon as it is known.
//
// When the pidfd becomes readable the process has ended. Process.End has the exit
// status if the zygote has not waited for the process yet; else the zygote sends it
// (ZygoteEvents.Exited). The worker leaves the table, Orphans ends the processes that
// it has started, and Events.Gone reports how it ended and what it wrote last
// (Output.StderrTail).
//
// # Output
//
// A worker's standard output and error are pipes that are always drained: into files of at
// most 64 MiB in the session's folder logs and, if the driver wants it, to the driver in
// batches (Sink). A driver that does not read loses the oldest lines. A sink knows how many outputs write to
// it, so that Finish can wait for the last line. A line that begins
// with namePrefix names the writer of the lines after it. workEndMark on standard error
// says that the following output belongs to other work, so that a report about a process's
// death quotes only the output of the work that died with it.
//
// At the end of a job a worker that runs calls is asked again after 10 ms and then killed;
// the others have 150 ms to exit. Every process that a worker has started carries the
// marks of its job and session in its environment, by which it can be found when its
// parents are gone.
//
// # Goroutines
//
// There are two goroutines for each zygote and one for its output; two for each
// worker's output and one for its Process; one for the Reaper; and one for each Sink
// while it has lines. Timers run on goroutines of their own.
//
// # Locks
//
// The owner's lock (Options.Lock) guards Table, Worker, Job and the zygotes' states. Callers of an
// exported method of Table, Worker or Job hold it, except for Open, Close and Discard.
// Events.Failed and Events.Gone are called with it held.
//
// Reaper.mu is held from the start of a zygote until its process id is known. Zygote.mu,
// Output.mu, Sink.mu and Orphans.mu guard the fields of their own struct. They are taken
// after the owner's lock, and Output.mu before Sink.mu. No callback is called with
// any of the five held, except the sink's unsent.
package workers
