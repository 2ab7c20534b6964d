// Package peers plays the control connections between the daemons of several nodes in one process, for tests of packages that see
// other nodes through a Network of their own.
//
// # Locks and goroutines
//
// Each connection is a pipe with a wire.Peer at both ends. The lock guards the tables only: messages are handled, and connections are closed,
// without it.
package peers
