// Package blobs keeps large values of the cluster's replicated state as files of the heads. Such a value is an internal key-value, a part of the class of a detached
// actor, or the environment of one. The state, its log and its snapshots have only the SHA-256 and the size of the value (record.Blob); smaller values are in the state itself.
//
// # The way of a value
//
// The head that proposes a change puts the value first (Put): it writes the file, and sends the value to all other heads. Put returns when a majority of the heads with a vote have the
// file on their disks, written with fsync. Then the command with the hash is proposed. So whoever is elected later finds the value at some head that lives.
//
// A head that lacks a value which its state names gets it from another head (Follow): when it joins, when it starts, when it applies a command that names the value, and
// when it finds the file damaged. Get answers only when the value is here and right: each read compares the hash. When all other heads have said that they do not have the
// value, Get returns record.ErrBlobLost. A file that is there and cannot be read just now, as when the process has too many open files, does not count as missing: it is got from another
// head, or read later. Lacks counts the values that are still to come; a head with such values gets no vote yet.
//
// A head that has not answered for some time is not asked again for a while, and the head that has given the last value is asked first: so the machine of one head may be off
// while another head gets its values.
//
// # How long a file is kept
//
// The state counts how many of its records name a value, in the same way on every head (raftstate). A file that no record names is removed, unless a command that names it may
// still be on its way. Put gives each value a ticket, which all heads hold and which the command carries. A head drops the ticket when it applies the command (Applied). A ticket
// whose command never comes is dropped after the grace time, and only when a fresh read has succeeded after that: then no such command can come any more, since
// raftstate proposes a command for a much shorter time. A file that is there when the head starts has such a ticket, too.
//
// # Bounds
//
// The state names at most record.MaxAllBlobBytes. Files that no record names yet have at most maxOnTheWay bytes; Put refuses more. A value has at most record.MaxBlobBytes. A full
// disk is an error of Put, and changes nothing.
//
// # On the connection
//
// Each question is a bulk connection of its own between two heads (protocol.go): a request of fixed size, an answer of fixed size with a text or the bytes of the value. A head has
// TalksAtOnce of them with another head at a time; packages of environments take none of their places. What is received is capped, goes to a file of its own, and counts only if its hash is right. Nodes may not ask.
//
// # Files
//
// HASH.blob is a value. NAME.coming is not whole yet, and is removed at the start.
//
// # Locks and goroutines
//
// Follow runs on the caller's goroutine, with some more while it gets values, Serve on that of its connection. A goroutine sends a value to one head, or gets a value; all end with Close. Store.mu guards the tables; nothing
// is read or written with it held, but files are removed. Store.inbox has a lock of its own, because raftstate calls Applied with the lock of the state held, and Follow asks the state with Store.mu held.
package blobs
