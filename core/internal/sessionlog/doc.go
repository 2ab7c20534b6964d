// Package sessionlog keeps the log of a head in files, so that a head that ends can be started again and goes on where it was.
//
// Open makes or opens a folder with three things: the log and Raft's own few values in one file (go.etcd.io/bbolt), and the
// snapshots, a folder each (package raft). Only one process at a time can have a folder open.
//
// # What survives
//
// Each change is in the file before it is committed, but the file is not synchronized with the disk. So everything that was
// committed survives the end of the process, also by SIGKILL: the kernel has it. What the last seconds brought may be lost
// if the machine itself stops; then the file may be damaged, too. A folder is therefore worth as much as the session that it
// belongs to, which ends with the machine as well.
//
// # Rules
//
// What is read from the file is checked: an entry that is damaged is an error that names the file and the index, and never
// another entry. The package starts no goroutine; bbolt has a lock of its own.
package sessionlog
