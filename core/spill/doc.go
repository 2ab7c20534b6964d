// Package spill keeps objects on disk: batches of objects in files of their own
// (Store.Write, Record.Read), and files that stand for memory where the arena
// has no room (Store.NewFile). It knows directories and bytes, not who owns
// what.
//
// A Store has one directory of its own below each root that it was given. They
// are used in turn; one that is full, broken or hanging is left out while
// others work. Their contents go with Close, and those of a process that was
// killed with the next Open or Sweep at the same root: each directory has a
// lock that its process holds.
//
// A file of a batch is a sequence of records: a header with the object's id,
// its sizes and a checksum, and the bytes, compressed where that pays. Beyond
// Options.Cache, large ones go between memory and disk without the page cache, in
// whole pages; see direct.go. Reading verifies all of it. A file is removed when its last record is released.
//
// Everything blocks on the disk, but for Record.Release and Remove, which hand
// over to a goroutine. A Store is safe for concurrent use.
package spill
