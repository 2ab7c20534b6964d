// Package actortable has the records of the actors of the cluster's state. It finds an actor by its id, a live one by its name, and the actors of one
// owner, of one job or on one node without a look at all actors: each process that has created actors asks for them when it ends.
//
// The records never change: a change puts a new record. Names, and the sets of owners, jobs and nodes, follow from the records, so a snapshot leaves them
// out.
//
// The package has no clock, no goroutine and no lock. All of it is in table.go.
package actortable
