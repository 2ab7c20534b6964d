// Package submit is the submitting half of one process: it has the tasks and
// actor calls that the process has submitted and that have no answer yet, and
// everything through which they get an answer.
//
// # What it owns
//
// Submitter holds the templates of functions and methods (package templates), the
// scheduling classes and leases (package leases), and the channels to leased workers and to
// actors. Package actors knows where an actor is and whether it lives, and package generators has the generators that the program reads;
// Submitter has their calls. Task is one task or one call of an actor, until it has ended.
// Results, arguments and lineage belong to the reference table (package refs), which knows tasks
// and actors only as the sources of objects.
//
// # Events
//
// The methods of Submitter are events. The program submits and cancels (MakeReturns,
// Submit, SubmitCall, CancelObject, ...), the daemon says what became of a class, a lease
// or an actor (LeaseGranted, LeaseRecalled, LeaseBroken, ClassTrouble, ...), a worker
// answers (Channel.Frames) or leaves (Channel.Gone), and the reference table says that an
// argument is ready or that an object has died (ArgumentReady, SourceGone, ...).
// Every retry is decided in package retry: the files here report what happened to a
// run of a task, get a verdict through retries.go and carry it out.
//
// # How a task goes
//
// Tasks share leases when their resources, environment, strategy, max_calls and function
// are equal: these tasks form one scheduling class. How many tasks are sent to a lease at
// once is measured for each class: about 2 ms of work, from 1 to 512 tasks. Package
// leases has the classes and the leases, and says which lease gets the next task.
//
// Crashes and exceptions share one budget of retries, max_retries. A worker's death costs
// each task that it had begun one try, and costs the others nothing: the worker says on a
// shared page which task it begins (core/internal/progress). The first retry after a crash comes at
// once, later ones after growing pauses.
//
// A task that was not sent is cancelled by taking it out of its queue. For a task that was
// sent, its worker gets a message over the control socket. Every task knows the call that
// has submitted it; recursive cancellation needs this.
//
// Package generators knows how far each generator is, and who wants its items. This package
// reads the frames of the items, and tells workers how many were taken.
//
// # What it asks of others
//
// Effects is what the session does for the Submitter: messages to the daemon and to other
// processes, the opening of sockets, timers, and what the user is told. Pipe is the socket of
// a Channel, on whose buffer the frames are written. A function that is passed to Effects is
// called under the mutex, and never before the call to which it was passed has returned. So no
// event runs in the middle of another one, apart from what the reference table reports of an
// object that just became ready or died.
//
// # Lock, goroutines, time
//
// The package has no lock and starts no goroutine. Every exported function needs the
// session's mutex, except cancellation.Cancellation.Await, which waits and must be called without it.
// Timers are Effects.After. The code calls time.Now directly.
// Nothing here blocks, and nothing imports package transport: a Channel is a handler
// of what arrives on its connection.
//
// Methods of this package write the fields of its structs; the session sets a restored channel's Pipe. The fields that are
// exported are there for the tests of package client, which look at a whole session.
//
// # Where to look
//
// state.go and taskstate.go have the types. task.go submits, taskframe.go writes frames,
// taskend.go ends tasks. pump.go sends queued tasks, lease.go takes granted leases, homes.go those of
// other nodes, pool.go is what package leases asks. channel.go writes calls, channelevents.go, result.go and
// resultvalue.go read answers.
// lostlease.go, lostworker.go and actordeath.go say what was lost, delay.go and discard.go
// come before the next run, recompute.go runs a task again for a lost result. actor.go joins
// actors to their calls, actorqueue.go has the calls, constructor.go the call of a constructor;
// generator.go and generatorframes.go join generators to their calls.
// capture.go writes what a successor gets (package snapshot), restore.go and restorelineage.go restore a Submitter from it.
// waiting.go finds what waits for long, which package waiting reports; counts.go and taskrows.go answer what a census
// and a footprint ask.
package submit
