// Package raftstate is the cluster's replicated state: a deterministic state machine
// behind hashicorp/raft. It remembers nodes, jobs, actors and their names, key-value pairs
// and settings. The records themselves are those of core/record.
//
// # Layers
//
//	Node     raft, retries, forwarding to the leader, typed methods   (node, propose, requests, lead, client)
//	Reign    what a leader decides, and fresh reads; who the members are   (reign, members)
//	Blobs    large values, which are files of the heads   (blobs)
//	Fresh    reads that show everything that was committed before   (mark)
//	fsm      the adapter: locks, decoding, the ring of events         (fsm, internal/ring)
//	Machine  commands in, results and events out                      (machine, actors, nodes, jobs, values, keys, image)
//
// The machine gives some of its state to tables that know neither the commands nor the member:
//
//	actortable  the actors, found by id, name, owner, job or node
//	answered    what requests gave, so that none is carried out twice   (proposed in requests)
//	classes     the large classes of detached actors                    (commands in code)
//	values      values, and how many records name each large one        (commands in values)
//	keyspace    the key-value store of Go programs, a machine inside the machine   (commands in keys; keyclient, keywatch)
//
// # The machine
//
// Machine has no clock, no random numbers, no I/O and no goroutine, and never walks a map
// where the order could show: times and ids come with the command. So the same commands
// give the same state, the same results, the same events and the same snapshot bytes on
// every member. A refused command (the name is taken, the incarnation is old) has a result
// like any other command.
//
// A record in the machine never changes: a change stores a new record. Therefore reads hand
// out records without copying their maps and bytes, and a snapshot is a copy of the maps of
// pointers, which is written while later commands are applied.
//
// # Commands
//
// A command is a msgpack array: version, kind, client, sequence, body, term, answered, seen. Client and sequence
// together make a retry apply once (package answered): the machine keeps the results of a client until the client
// says that it has them (answered), and at most answered.Kept. A request that the machine may have forgotten is
// refused as expired: it cannot be told apart from a retry. What is over a bound goes in the order of the log, so that
// all members forget the same. Bodies are msgpack maps, so that a field can
// be added. A member that meets a kind or version that it does not know stops, and Node.Err
// says why: it must not compute another state than the others. With several heads, new kinds are
// proposed only when the oldest member knows them.
//
// A member also stops when its stores fail (Stores.Guard): then nothing can be committed here any more, and what the disk
// holds is as the last acknowledgement says. Node.Failed is closed when a member has stopped by itself.
//
// A command has at most MaxCommandBytes. The class of a detached actor may be larger, and
// comes in parts of MaxCodePart bytes.
//
// # Large values
//
// A value of record.MinBlobBytes and more is a file of the heads, if Options.Blobs is there: an internal key-value, a part of a class, and Spec, Meta and Home of an actor (blobs). The
// file is on the disks of a majority before the command is proposed, and commands, records and snapshots have the hash and the size only. The machine counts how many records name a
// value (package values). The counts follow from the records: a snapshot does not have them. A file that nothing names is removed by Options.Blobs, which is told of each
// applied command that names files, and of each change of what is named. While a head of a level below 3 takes part, large values are in the commands, as they are in a member without Options.Blobs; such
// values stay where they are. Actor and ActorNamed give records without large values, and WholeActor reads them. GetKV, Code and WholeActor may wait for another member.
//
// A command of a Reign names its term, and changes nothing in the log of a later term. A leader that was stopped, and that others have
// replaced meanwhile, cannot change the state with what it had decided before.
//
// # Snapshots
//
// A snapshot is a header and blocks, each with a checksum of everything before it (package blocks). The blocks hold a zstd stream, and that holds
// records in msgpack, each with its kind and a version (package recordstream). What the records hold stands in image. Records are written and read one by one, so a
// snapshot needs no memory beside the state. What is damaged is refused with ErrDamagedSnapshot. A kind that this version does not know, or
// a version of a kind, is refused with ErrNewerSnapshot; a new field of a known record is left out. The layout of the first
// version is still read (firstimage).
//
// # Events
//
// Every change makes events, which are numbered without gaps. Watch is a long poll from a
// cursor: there is no watcher object, and nothing has to be closed. The latest
// Options.KeptEvents events are kept. A caller whose cursor is older than that, or whose
// member was restored from a snapshot, gets record.ErrCompacted, reads the state anew and
// goes on from Now.
//
// Changes of the keys of Go programs are no events of this ring. They are numbered by themselves, and the latest are part of the state: see WatchKeys.
//
// # Goroutines
//
// Raft has its own. Each Node has one that follows the leadership, and one that takes
// snapshots at times. Another one commits for fresh reads (mark) while some wait: it ends with the last of them, or when the
// member stops. An Apply whose context can end waits in a goroutine that ends with
// the commit. Close waits for all of them.
//
// # What a caller may rely on
//
// When Apply returns without an error, the command is committed and this member's reads
// show it, on a follower too. After record.ErrMayHaveBeenApplied the command may or may not
// have been applied; sending the same Command again, with the Request that Apply filled in,
// is safe. Reads may lag on a follower, and on a leader that does not know yet that it was
// replaced. A read behind Fresh shows all that was committed before; reads that wait at the same time share
// one commit, and a member without others needs none. Node.Fresh does the same for a member that follows (mark).
package raftstate
