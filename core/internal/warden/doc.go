// Package warden runs the processes of a node: the head, if the node has one, and the
// daemon. Run starts them, starts the head again when it ends, and ends everything with the
// daemon.
//
// # What Run does
//
//   - It starts the children one after the other. Each one says on descriptor ReadyFD that it
//     is ready, or why it cannot be; the next one starts when the one before is ready, and
//     its command line may hold what that one has said (a port, for example).
//   - When a child with Restart ends that has been ready once, Run starts it again after a
//     pause, which grows from firstPause to longestPause. A child that has lived for
//     steadyTime begins with the first pause again.
//   - A child with Again that has been ready and has ended in a way that Again wants is started again in the same way, until it is
//     ready. All processes that it has left behind are killed before.
//   - When another child ends, or a child cannot start, or a signal comes, Run ends all children,
//     the last one first: SIGTERM, and SIGKILL when Options.Grace is over. A second signal
//     kills those that are left at once.
//   - When a child has ended in this way, Run kills all processes that the child has left
//     behind, and calls Options.Ended when none of them lives any more.
//
// When Run returns, no process is left that it or one of its children has started. The process
// is the child subreaper, so that every orphan below it becomes its child. Children that it had
// before Run are collected when they end, but never killed.
//
// Run is fit for process 1 of a container: it collects every child that ends, and the signals
// come through a channel, so that the kernel does not ignore them. While Run runs, nothing else
// in the process may start processes and wait for them.
//
// If the process of Run is killed, the kernel sends SIGTERM to its children (PDEATHSIG).
//
// # How it is made
//
// machine decides. It is told what has happened (a child was started, has spoken, has ended; a
// signal, the time) and says what is to be done. It starts no process and reads no clock, and
// its tests are scripts. Run performs its orders.
//
// # Goroutines
//
// The goroutine of Run keeps its thread, because PDEATHSIG belongs to the thread that has
// started the child, and calls Child.Command, Options.Ready and Options.Ended. One goroutine for each start reads what the child says and ends with the
// child. There are no locks: everything is the goroutine's of Run.
package warden
