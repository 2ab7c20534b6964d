// Package keyspace is the key-value store of Go programs as a pure machine: what each command does to it, which changes a watcher
// sees, and how it is laid out in a snapshot. Package raftstate replicates it.
//
// # Keys and versions
//
// A key has a value and a version, which is the log index of its last change. So versions only grow, also over the whole store, and a key
// that was deleted and made again has a higher version than before.
//
// # Changes
//
// Each change of a key has a number. The numbers have no gaps. The latest changes are kept, up to maxKept and maxKeptBytes. They belong to the
// state: they are in the snapshot, and every member keeps the same ones. So a watcher goes on at another member, or after
// a restart, as if nothing had happened. Since says that the changes after a place are no longer kept.
//
// # Leases
//
// A lease is the log index at which it was granted. A key may be written with a lease, and goes when the lease ends. The machine has no
// clock. The head that leads counts the time (package keyleases), and has the end committed as a command. Each leadership begins with a
// command (Reign) whose index its other commands name: an end that an earlier leadership has asked for is refused. Otherwise a command
// that was under way during an election could end a lease that the next leader has confirmed to its holder.
//
// # Bounds
//
// Keys and values together have MaxBytes at most, with keyOverhead for each key. There are at most MaxLeases leases, with at most
// MaxLeaseKeys keys each: the end of a lease is one command, which must stay small.
//
// # Invariants
//
//   - equal commands give equal stores and equal images, whatever the order of a map is;
//   - pairs and changes never change after they were made, so readers and snapshots share them;
//   - a key's lease is in the table of leases, and its set of keys has the key.
//
// The package has no clock, no random numbers, no goroutine and no lock. The files: space.go has keys and leases, history.go the changes,
// image.go the layout in a snapshot.
package keyspace
