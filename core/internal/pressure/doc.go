// Package pressure watches the memory of a node and of its GPUs, and decides which
// worker is ended when there is too little: before the kernel ends a process that
// the kernel has chosen. It has no table of workers and ends no worker itself: the
// daemon shows it the workers and ends the chosen worker, through the interfaces
// Workers and GPUWorkers.
//
// # Memory of the node
//
// Options say when memory is short. MemoryWatch.Run looks at the machine, at the
// cgroups and at the session's own limit (Options.Tightest), more often the less memory
// is left (Options.Next). When memory is short, MemoryWatch records the memory of all
// processes (usage.go), asks the daemon what the workers do (View), chooses one of them
// (Pick, a pure function), and has the daemon end that worker if it still does the same
// work (Work.Same). It then waits until the process is gone and the memory is back.
// Report is the text that the owner of the ended task is told.
//
// Only anonymous memory counts: page cache can be dropped, and shared memory, like the
// arena, makes the room for anonymous memory smaller. Memory is short when more than 95 %
// of that room is in use. Pick then takes the first kind of worker that exists: idle
// workers, tasks that may be retried, actors that may restart, other tasks, other actors.
// Among these it takes the newest of the largest group. A group is one owner's calls of
// one function. The largest group has the most workers; of equals it has the most memory.
// Groups with less than a tenth of the largest group's memory are left alone.
// docs/environment.md has the variables.
//
// The owner retries such a task without a cost to max_retries, after 1, 2, 4 … 60 s
// (core/internal/retry). The kernel's own kills are recognised by its counters. Workers have a
// higher oom_score_adj than the daemon.
//
// # Memory of GPUs
//
// GPUWatch notes what each worker was given (Assign), and checks the memory of GPUs
// while a worker has a GPU. Where the limit is to be enforced, it ends a worker that
// holds more than the share that its work asked for. This is possible only where the
// processes that the driver lists are recognised as processes of this node
// (Unenforceable).
//
// # Goroutines and locks
//
// MemoryWatch.Run is a goroutine of the daemon. MemoryWatch.mu guards the count of the
// kernel's kills; nothing but Figures is called while it is held. GPUWatch starts one
// goroutine while a worker has a GPU. The daemon's lock guards what GPUWatch knows of
// workers, so that nothing can happen to a worker between the decision to end it and its
// end. GPUWatch.proving is taken before the daemon's lock.
//
// Tests provide the figures (Figures, GPUs) and simulate the workers. They run
// in a bubble of testing/synctest, which simulates the time.
package pressure
