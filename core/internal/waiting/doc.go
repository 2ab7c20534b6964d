// Package waiting says when the user is told that tasks or actors wait for long, and in which words.
//
// A Watch counts looks: one each second for as long as anything waits. When something begins
// to wait, the number of the last look is noted as the time, so submitting a task reads no
// clock. Things that have waited for After are reported, and reported again after a minute
// (Again) at the earliest. Each kind of thing is counted on its own.
//
// Package submit knows what waits. At a look that may find something it fills a List, which
// puts tasks of one function together, and actors of one class. Watch.Report returns the
// kinds of which the user should be told now.
//
// The package is plain data: it has no lock, no timer and no goroutine.
package waiting
