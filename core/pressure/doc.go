// Package pressure watches the memory of a node and of its GPUs, and decides which
// worker is ended when there is too little: before the kernel ends a process of its
// own choice. It has no table of workers and ends nobody itself: the daemon shows it
// the workers and ends the one that it chooses, through the interfaces Workers and
// GPUWorkers.
//
// # Memory of the node
//
// Options say when memory is short. MemoryWatch.Run looks at the machine, at the
// cgroups and at the session's own limit (Options.Tightest), more often the less memory
// is left (Options.Next). When memory is short, MemoryWatch makes a picture of all
// processes (usage.go), asks the daemon what the workers do (View), chooses one of them
// (Pick, a pure function), and has the daemon end that worker if it still does the same
// work (Work.Same). It then waits until the process is gone and the memory is back.
// Report is the text that the owner of the ended task is told.
//
// # Memory of GPUs
//
// GPUWatch notes what each worker was given (Assign), and looks while a worker has a
// GPU. It ends a worker that holds more than the share that its work asked for, where
// that is to be enforced. That is possible only where the processes that the driver
// lists are recognised as ours (Unenforceable).
//
// # Goroutines and locks
//
// MemoryWatch.Run is a goroutine of the daemon. MemoryWatch.mu guards the count of the
// kernel's kills; nothing but Figures is called while it is held. GPUWatch starts one
// goroutine while a worker has a GPU. The daemon's lock guards what GPUWatch knows of
// workers, so that nothing can happen to a worker between the decision to end it and its
// end. GPUWatch.proving is taken before the daemon's lock.
//
// Tests play the figures (Figures, GPUs) and the workers, and run in a bubble of
// testing/synctest, which plays the time.
package pressure
