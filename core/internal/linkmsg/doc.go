// Package linkmsg has the messages that travel between nodes: their numbers, their bodies and their versions.
//
// The processes of one machine come from one installation, so their messages are arrays and any change of a field is a
// new version (package wire). Nodes are upgraded one after the other. The bodies here are therefore maps: a field may be
// added, an old reader skips it, and a new reader finds it empty. A field's name is never reused, nor is that of a field of package wire in a body
// (EnvSpec, NodeUse, NodeCensus). A change that an old reader would misunderstand raises Version, and is said only to who speaks the new version. MinVersion is the
// oldest version that this build still understands: the one before Version.
//
// The envelope around a body is that of package wire, so a wire.Peer carries these messages as they are.
//
// # Parts
//
//	types.go    the numbers of the messages
//	hello.go    the first message, and which versions fit
//	ask.go      requests of a node to the head, and their answers
//	told.go     what a node reports, and what the head orders and announces
//	place.go    what a node has free, what it has no room for, and what other nodes offer
//	objects.go  what the daemons of two nodes say about objects
//	jobs.go     what a node asks about a job before it starts an actor of it
//	output.go   what workers write, on its way to the node of their driver
//	keys.go     certificates, tokens and authorities that are replaced
//	fault.go    errors that keep their identity on the way
//	encode.go   bodies to bytes and back, with bounds
//
// The package starts no goroutine and keeps nothing.
package linkmsg
