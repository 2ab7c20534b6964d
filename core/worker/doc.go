// Package worker makes a Go program one whose functions and actors a cluster runs. Python programs call them by ray.cross_language, and Go
// programs by Session.GoFunction and Session.NewGoActor of package core.
//
//	func main() {
//		worker.Function("sum", func(ctx context.Context, a, b int) (int, error) { return a + b, nil })
//		worker.Actor("Counter", NewCounter)
//		worker.Main()
//	}
//
// The caller names the program by its path. The nodes that run its calls get a copy, start the program, and each of their processes of it
// runs one call at a time, or one actor. Resources, GPUs, placement, retries, cancellation and restarts are as for Python.
//
// # What can be registered
//
// A function takes a context first, if it wants one, then any number of arguments, and returns nothing, a value, an error, or both. One
// that returns an iter.Seq or iter.Seq2 of values and errors is a stream, whose items travel while it runs. Function1 and so on are the
// same with a signature that the compiler checks. An actor is registered by its constructor: the exported methods of what it returns can be
// called, with the same signatures. docs/go.md has the table of the types of arguments and results.
//
// # Errors
//
// An error that a function returns, and a panic in it, become a CrossLanguageError in Python and a *core.RemoteError in Go, with the text
// and for a panic the stack. NoRetry marks an error that a retry would not mend. A panic in another goroutine, and os.Exit, end the
// process; the call is then one of a worker that has crashed, and is retried as such.
//
// # The context
//
// The context of a call is cancelled when the call is. Session, GPUs and Call read what is known of the call from it. What the call
// submits with the context belongs to the call: cancelling it cancels that, too.
//
// # Goroutines and locks
//
// One goroutine takes and runs calls, and an actor with MaxConcurrency has as many; a goroutine looks for cancellations. A mutex guards
// the list of running calls. Calls of an actor run at the same time when its MaxConcurrency allows that, so its methods need locks then.
//
// # Files
//
// register.go has what programs call before Main, main.go how a process becomes a worker. callable.go checks and calls functions by
// reflection. server.go takes calls, call.go runs one, stream.go sends items, host.go runs an actor, assigned.go has what a lease gives.
package worker
