// Package spill keeps objects on disk: batches of objects, each batch in a file
// (Store.Write, Record.Read), and files that stand for memory where the arena has no room
// (Store.NewFile). It knows directories and bytes, and not who owns an object.
//
// # Directories
//
// A Store has one directory of its own below each root that it was given, and uses them in
// turn. A directory that is full, broken or hanging is left out while others work. Close
// removes the directories. Each directory has a lock that its process holds, so the
// directories of a process that was killed are removed by the next Open or Sweep at the
// same root.
//
// # Files
//
// The file of a batch is a sequence of records. A record is a header, with the object's id,
// its sizes and a checksum, and then the object's bytes, which are compressed where that
// saves enough. When more than Options.Cache bytes lie in the page cache, large objects
// move between memory and disk without the page cache, in whole pages (direct.go). Reading
// verifies the header and the bytes. A file is removed when its last record is released.
//
// An object is compressed with zstd if a probe of 64 KiB of it shrinks to two thirds.
// Bypassing the page cache means O_DIRECT, 8 MiB at a time, from the pages of the arena
// and back into them. A file system that refuses this gets ordinary writes. If one object
// cannot be read, only this object is lost, and not the others of its batch.
//
// # Blocking
//
// Every method may wait for the disk, except for Record.Release and Remove, which hand the
// work to a goroutine. A Store is safe for concurrent use.
package spill
