// Package workers runs the worker processes of a node. Table knows each worker and
// how far it has come: it starts workers, ends them, and tells how they ended. The
// other types are parts of that: the zygotes that fork workers, the handles of
// processes, what workers write, and what they leave behind when they end.
//
// The package knows no scheduler, no leases and no tasks. Its owner, core/daemon,
// decides which worker is started or ended. It hears of each worker through Events,
// and of nothing else. What belongs to one job, its environments and where the output
// of its workers goes, is in Job.
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
// # How a worker ends
//
// End, EndWithJob, EndUnlessNeeded and ExpectEnd give a worker some time to end by
// itself; Kill does not. A worker that is to be killed before its process is known is
// killed as soon as it is known.
//
// When the pidfd becomes readable the process has ended. Process.End has the exit
// status if the zygote has not waited for the process yet; else the zygote sends it
// (ZygoteEvents.Exited). The worker leaves the table, Orphans ends what it has started,
// and Events.Gone tells how it ended, with what it wrote last (Output.StderrTail).
//
// # Goroutines
//
// Two for each zygote and one for each of its output; two for each worker's output and
// one for its Process; one for the Reaper; one for each Sink while it has lines. Timers
// run on goroutines of their own.
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
