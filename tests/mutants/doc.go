// Command mutants measures whether the tests notice errors. It changes the
// program in one random place, runs the tests of the package that reach the
// place, and notes whether one of them fails. A change that no test notices is
// a survivor: a test is missing there, or the change changes nothing.
//
//	go run ./tests/mutants -seed 7 -n 20 -packages core/internal/refs,core/internal/sched
//	go run ./tests/mutants -files core/internal/refs/table.go -n 100
//	go run ./tests/mutants -at core/internal/refs/table.go:120
//
// Each package is compiled once, into a program that holds all its changes.
// The end of the name of the program's file chooses the change that is on.
// Each test then runs alone with no change on, and the program notes which
// places the test reaches, also in processes that the test starts. A change
// that cannot be written behind a switch, such as one of the assignment in a
// case of a select statement, is compiled by itself. The changed files reach
// the compiler through the -overlay option of the go command, so the working
// tree stays as it is. The same seed chooses the same places in the same
// sources. A change that would not compile by itself is replaced by the next one.
//
// Limits: a change in a place that no test reaches when the test runs alone
// counts as a survivor. A test with several goroutines may reach a place only
// now and then; such a place counts as not reached by that test when it was not
// reached in the one run. With -thorough every change that would survive meets
// all tests of the package. A test that fails now and then without a change
// makes a change look noticed; it is named when it fails in its first run
// without a change. A test that fails twice without a change is left out, and
// named. A package whose tests cannot be run is given up, and named; the rates
// are then those of what was measured, and the exit status is 2.
//
// A changed program may allocate, write or start processes without end. Each
// trial therefore has bounds on its memory, files and processes, a temporary
// folder that is removed, and all its processes are ended. Tests that exceed
// the bounds count as failed.
//
// finder.go and within.go find what can be changed, load.go reads a package and its types,
// switched.go and helpers.go write the program with all changes, build.go
// compiles it, tests.go finds which tests reach which places, run.go tries one
// change, trial.go holds the tests within their bounds, descendants.go finds and
// ends their processes, report.go prints the rates, and groups.go names the
// packages and the share of changes that the tests of each group have to notice.
package main
