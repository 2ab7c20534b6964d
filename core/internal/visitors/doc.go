// Package visitors brings what a node has to know of a job whose processes are on other nodes: its namespace and its environments. A node that
// is told to start an actor asks the node of the actor's creator, which has both, because the creator has named the environment there.
//
// Tasks need no question: the process that brings a task to another node brings the environment along, as a guest.
//
// A detached actor may start when the node of its creator is gone. So Pack makes the same answer ahead, and the cluster's state
// keeps it with the actor's record; Unpack reads it.
//
// # Locks and goroutines
//
// The lock guards the questions that are under way; equal ones are asked once. Nothing is called with it held but the network, which
// does not wait. Who asks is answered on the goroutine of the connection, or on one of its own if there is no connection.
package visitors
