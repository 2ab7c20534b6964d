// Package pace measures how long the tasks of a function run, and says how many of them a
// worker should have at a time.
//
// A Pace is a running mean in which no single measurement counts for much. Depth is the
// number of tasks with about 2 ms of work; a worker with so many neither waits for its next
// task nor holds tasks that another worker could run now. Deep is the same for a queue that is
// long enough for every worker. Both are at most 512. Before the first measurement both are 0.
// Afterwards Depth is at least 1, and Deep is 0 for tasks of 20 ms or more. A worker of another node
// gets more than that, because the way to it takes time: Ahead says how many, at most 512.
//
// The package is pure: it reads no clock, and has no lock and no goroutine.
package pace
