// Package groups has a node's part of placement groups: it sets bundles aside as the head orders, follows the groups in which work of this node's processes
// runs, and says what that work needs by the names that bundles have.
//
// The scheduler (package sched) has the bundles. What it says of them goes through CarryOut.
//
//	need.go    what work in a group needs
//	follow.go  Groups: the groups that the scheduler wants to hear of
//	local.go   Local: a head without other nodes, which sets all bundles aside here
//	make.go    Record: what a process asks for that makes a group
//
// # Goroutines and locks
//
// There is one goroutine for each answer of the head about a group, which ends when the scheduler has heard of it. Groups and Local have no lock and no state
// that changes: the scheduler has it, and its owner's lock guards it.
package groups
