// Package deathtext says in words what became of an actor: which actor it is, and why it is
// dead or restarts. The words follow from the actor's record alone. Errors in Python begin with
// the lines that name the actor, as Ray's do (python/eagleray/_private/faults.py reads them).
//
// The package has no state and starts no goroutine.
package deathtext
