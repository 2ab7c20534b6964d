// Package generators is the caller's side of generators. The items of a generator
// arrive one by one while it runs, and each item is an object that the caller owns.
//
// # What it owns
//
// A Generator is one run of a generator: how many of its items have come, how many the
// program was given, who still wants them, and which retries its runs have used. The Table
// knows the generators that the program reads and those whose items come. Nobody else
// writes these rows. The items are objects of the reference table (package refs). The call
// that yields them is opaque here: refs.Task, which is the source of each item that has
// not come.
//
// # Numbers
//
// The generator's own object (completed() in Python) has index 1 and the count n. Item i has
// index i+2 and the count n+1+i. So the worker knows an item's id before it writes a large item
// to the store. For this a generator sets MaxItems counts aside. Package execute has the
// worker's side.
//
// # A second run
//
// An item may be lost while others are still to come. The program may take no more items
// until it has the lost item, so the lost item cannot wait for the generator's end. Therefore
// the generator runs a second time, beside the first run, and sends only lost items. All
// runs of a generator share one budget of retries, which the first run's Generator counts.
//
// # Events
//
// The submitter (package submit) says that a generator was called (New, Again), that an
// item has come (Comes, then Came), how a run has ended (RaisedLost, Ended), that the
// program takes an item or reads no more (Take, Leave), and that nobody has the
// generator's own object any more (OwnGone). The package sends nothing. A method returns
// what the submitter has to send: the ids to free, whether to close the generator, and
// how many items the worker may count as taken.
//
// # Lock, goroutines, time
//
// The package has no lock, starts no goroutine and reads no clock. Its callers hold the
// session's mutex.
package generators
