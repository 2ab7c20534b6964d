// Package raftlog keeps the state of a head on a disk: the log of raft, its term and vote, and snapshots. Open takes a
// directory and gives the stores of raftstate.Options.
//
// # What it promises
//
//   - When StoreLogs has returned, the entries are on the disk. After kill -9 and after a power cut they are there again.
//   - An entry is read as it was written, or not at all: every byte is under a checksum, which is verified when the directory is
//     opened and each time an entry is read.
//   - What is damaged is refused with ErrDamaged, which names the file and the place. Only the tail of a write that was not
//     acknowledged is cut off, and a damaged snapshot that the log replaces is put aside. Both are logged.
//   - The first write that fails stops the member (Guard). raftstate's node then answers nothing any more, and its Err names the directory.
//   - A write that takes longer than StallAfter is seen (Guard.Stalled). The head then withholds what would keep it leading, so another one leads until
//     the disk answers again (package headgroup).
//   - One process has a directory at a time (ErrInUse).
//
// # The directory
//
//	lock               held by the head that runs; has its process id
//	term               raft's term and vote, and the head's id (stable.go)
//	log/N.log          a segment that begins with entry N (segment.go, record.go)
//	log/acknowledged   the last entry that was acknowledged (mark.go)
//	snapshots/T-N.snapshot   the state as of entry N of term T (snapshots.go, sink.go)
//
// Segments are files of zeros that are written from the front. A commit is one write and one fdatasync, which
// needs no change of the file's metadata. A batch lies in one segment.
//
// # Which damage is which
//
// A torn write looks like a damaged record. Three things tell them apart. The mark says which entries were acknowledged; it is
// always there after the process was killed, and may be some seconds old after a power cut. A record of a later batch proves that the
// batches before it were on the disk. And every segment but the last one was whole when the next one was made. So after a power cut
// one damaged place in the very last batch may be taken for a torn write, and nothing else is.
//
// Entries at the end of the log are deleted when another leader has overruled them. The mark says so meanwhile, and Open ends what was begun.
//
// # Snapshots
//
// Two snapshots are kept. raft deletes the entries that a new snapshot covers, and the log keeps those that came after the
// older one. So the older snapshot and the log give the whole state when the newest snapshot cannot be read. Without that, the head does
// not start: it never goes on with less than it had acknowledged.
//
// # Goroutines and locks
//
// There are no goroutines. Log, Stable, Snapshots and Guard have a lock each; Log and Stable take that of Guard, and Log that
// of Snapshots, while they hold their own. Log holds its lock while it syncs.
package raftlog
