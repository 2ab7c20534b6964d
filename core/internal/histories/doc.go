// Package histories tests the replicated state as its clients see it. Clients change and read the state of three or five members (raftstate
// on raftlog) while these are killed, cut off, stalled and started again, and lose what they have not synced. What the clients were told is a
// history. Porcupine looks for one order of all calls that explains it.
//
// All of it is in one process, in tests. The time is that of testing/synctest, so a history of eight seconds takes a fraction
// of one. A seed gives the plan of the calls and blows (histories_test). Goroutines run as the machine has them run, so a seed repeats its
// plan, and nearly its history.
//
//	net        messages that are late, and lost where the network is cut in one direction or both
//	disk       files that lose what was not synced
//	members    heads that die in an instant and start again; the blows
//	clients    the calls
//	model      what a history has to look like
//
// Builds with the tag planted have bugs on purpose, and planted_test shows that histories find each of them.
package histories
