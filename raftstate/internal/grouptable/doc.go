// Package grouptable has the records of the placement groups of the cluster's state. It finds a group by its id, a live one by its name, and those of one
// job, of one actor or with bundles on one node without a look at all groups.
//
// The records never change: a change puts a new record. The names and sets follow from the records, so a snapshot leaves them out.
//
// The package has no clock, no goroutine and no lock. table.go has the table and its sets, change.go what a group goes through:
//
//	PENDING → CREATED ⇄ RESCHEDULING, and REMOVED from each of them
package grouptable
