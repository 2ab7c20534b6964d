// Package gozygote is the part of a Go worker program that talks with the daemon before the program's workers exist.
//
// The daemon starts the program of an environment once, as the zygote of that environment, and orders workers from it over the socket on
// descriptor 3. The packets are those of a Python zygote (docs/protocol.md). A process with goroutines cannot fork, so this zygote starts
// its own program again for each order: by /proc/self/exe, so that all workers of a zygote run the same code, even when the file was
// replaced meanwhile. What a worker needs to know (Start) is on its descriptor 3, in a memfd that nobody else can read.
//
// Package core/worker calls Role when the program has registered its functions, and then Serve or ReadStart.
//
// # Goroutines and locks
//
// Serve runs on the caller's goroutine and reads orders. One goroutine for each worker waits for the worker's end and tells the daemon. A
// mutex guards the list of the workers that live. When the socket closes without the word that the zygote is to end, the daemon is gone:
// workers end by themselves, and those that have not after a second are killed, with the processes of their sessions.
//
// # Files
//
// start.go has what travels and the roles, serve.go the zygote.
package gozygote
