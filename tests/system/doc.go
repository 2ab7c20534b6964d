// Package system tests how the project is built: which package may import which, which way
// the references between the files of a package run, and how locks are released. The tests
// that run a whole daemon are in core/internal/system.
package system
