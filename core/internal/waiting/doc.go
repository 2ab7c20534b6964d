// Package waiting decides when the user is told that tasks or actors have been waiting for long, and
// writes the text.
//
// A Watch counts its checks: it makes one check each second while anything waits. When
// something begins to wait, the number of the latest check is noted as the time, so
// submitting a task reads no clock. Things that have waited for After are reported, and
// reported again after a minute (Again) at the earliest. Each kind of thing is counted
// separately.
//
// Package submit knows what waits. At a check that may find something it fills a List,
// which puts tasks of one function together, and actors of one class. Watch.Report returns
// the kinds of which the user should be told now.
//
// The package is plain data: it has no lock, no timer and no goroutine.
package waiting
