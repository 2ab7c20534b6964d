// Package memory has stores of raft that live as long as the process: for a session that is its whole cluster, and for tests. Each store has a
// lock of its own. There are no goroutines.
package memory
