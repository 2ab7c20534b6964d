// Package execute is the queue of one worker process. It has the calls that
// other processes have sent, and decides which of them run and what their
// callers are told.
//
// # What it owns
//
// Worker holds the calls, the lanes in which they wait, and the state of the
// process as a worker or an actor. Caller is one connection through which another
// process sends calls (the caller of an actor's constructor has no socket). It
// has the caller's templates, its generators, and the places where the worker
// notes which calls have begun. Call is one call.
//
// # Events
//
// Most methods of Worker and Caller are events. Frames arrive (Caller.Frames), and a
// caller leaves (Caller.Gone). The program asks for a call (Next), and the
// session fetches what the call takes as arguments, for which it may wait. Then
// exactly one of these follows: Begin (the program runs the call), Defer (an
// actor's call waits in the queue for a lost argument), GiveLost (a task goes
// back to its caller because of a lost argument), Send or AnswerFault (the call
// is answered without having run). Nothing follows for an assignment, which is told to
// the program only. When the argument of a deferred call is there, Arrived follows. A
// call that has begun ends with Send, AnswerFault or Finish. Each call is answered
// exactly once, or given back, unless its caller or this process ends first.
//
// A call that waits for objects lends its CPUs (Block, Unblock). The tasks behind
// a task that blocks, or that runs much longer than usual for its function, go back
// to their callers (giveback.go), because other workers may run them sooner. Calls of
// actors stay.
//
// # Actors
//
// Calls of one caller begin in the order in which they were sent. A call waits for its
// arguments, and the later calls of its concurrency group wait behind it. Each group has
// a lane of its own (lane.go), which threads of the group serve, or an event loop of its
// own. The calls that wait have at most 64 MiB: beyond that callers are not read, or are
// told to keep the calls of a group (backlog.go). An actor that ends itself finishes the
// calls that run, and begins no other one (leave.go).
//
// # What it asks of others
//
// Effects is what the session does for the worker. Pipe is the connection of a
// caller, on whose buffer the package appends its frames. The methods of both are
// called in the middle of an event and must not call back into the package. There
// are two exceptions: Effects.Wake may run the function that was passed to
// wait.Calling, and Pipe.Flush may run the function that was passed to
// Pipe.WhenSent.
//
// # Lock, goroutines, time
//
// The package has no lock: every exported method needs the session's mutex. The
// channel that Call.Stopped returns may be waited for without it. The package starts no
// goroutine. Timers are Effects.AfterFunc, whose functions run under the mutex and
// only while the session is open. Each task reads the clock, so the code calls time.Now
// directly. Tests run in a testing/synctest bubble, in which the test controls the time.
//
// # Where to look
//
// state.go has the types. caller.go reads frames, lane.go and order.go hold the
// queue and choose the next call, running.go begins and ends calls, defer.go puts
// back the calls whose arguments are lost, answer.go writes answers, generator.go
// sends items, giveback.go and cancel.go take calls out again, backlog.go bounds
// what waits, lend.go lends CPUs, functions.go has what calls run, constructor.go
// makes the worker an actor, drain.go and leave.go end it.
package execute
