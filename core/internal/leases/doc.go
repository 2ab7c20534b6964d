// Package leases has the workers that the daemon has lent to this process, and the scheduling
// classes whose tasks they run.
//
// # What it owns
//
// A Pool has the Classes and the Leases. A Class is the tasks that may run in the same workers: it has
// the queue of those that were not sent, its leases, and how many more leases the daemon was asked
// for. A Lease is one worker. T is the type of a task and C that of the channel to a worker: the
// package stores values of both types and never looks inside them.
//
// # How it works
//
// Next returns the lease that gets the next task of a class, and its user sends the task there
// (Lease.Sent, Lease.Answered). How many tasks a lease has at once is measured for each class
// (package pace). AdjustWant tells the daemon how many more leases the queue of a class could use.
//
// A lease whose queue is empty serves the class that has waited longest among those of its shape,
// which ask for the same resources under another function. A lease that nothing here needs goes
// back after 100 ms, after 1 ms when the daemon has said that others wait for it, and a recalled
// lease goes back after the tasks that were sent to it. A class may have alternatives, other
// resources for when its own are not free: due.go has their rules.
//
// Leases may be of other nodes, when the own daemon offers them: homes.go has the counts.
//
// The workers note on a page of shared memory which tasks they begin (package progress); the pool owns
// the page.
//
// # Rules of the package
//
// It has no lock and starts no goroutine: the session's mutex guards it. Host is what it asks of the
// submitting half. While it chooses a lease for a task it calls only ReadyMs of Host, and only when an
// alternative's lease may serve a class with fallback_after. Leases need the time, so the code calls
// time.Now directly.
package leases
