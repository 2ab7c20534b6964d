// Command mutants measures whether the tests bite. It changes the program in
// one random place, runs the tests of the package that holds the place, and
// notes whether one of them fails. A change that no test notices is a
// survivor: a test is missing there, or the change changes nothing.
//
//	go run ./tests/mutants -seed 7 -n 20 -packages core/own,core/sched
//	go run ./tests/mutants -at core/own/table.go:120
//
// The changed file reaches the compiler through the -overlay option of the go
// command, so the working tree stays as it is. The same seed chooses the same
// places in the same sources. A change that does not compile is replaced by
// the next one.
//
// A changed program may allocate, write or start processes without end. Each
// trial therefore has bounds on its memory, files and processes, a temporary
// folder that is removed, and no process of it lives on. Tests that exceed the
// bounds count as failed.
//
// places.go finds what can be changed, run.go applies one change and runs the
// tests, trial.go holds them within their bounds, descendants.go finds and ends
// their processes, report.go prints the rates, and groups.go names the packages and the
// share of changes that the tests of each group have to notice.
package main
