// Package dir knows which nodes have which object. The daemon of the node on which an object's owner runs has a Dir for
// the objects that another node makes, has or wants. Objects that only the owner's own node knows have no entry, so on one machine
// a Dir is empty.
//
// # A pure machine
//
// Events are methods: a node makes an object, has it whole, lacks it, wants it, stops pulling it. What has to be told to
// nodes follows in Actions. The package has no socket, goroutine, lock, clock or random number, and nothing depends on the
// order of a map. Events of one node come in the order in which the node sent them.
//
// # Versions
//
// A task may run twice, on two nodes. Each time a node begins to write an object it gives the object a Version that nobody else has used. The version
// that was made last counts. Whoever has or pulls an older one is told to free it (Free with that version).
//
// # Members
//
// A member of an entry is a node that makes the object, has it whole, or pulls it. One whole member is the primary: its store
// writes the object to disk when it is short of memory. The others are replicas and may be dropped, after they have asked (Drop).
// When the primary's node loses the object or dies, the oldest replica becomes the primary (Promote). Where no whole member is left
// and nobody makes the object, the entry goes: the object is lost, and its owner computes it again.
//
// # Who pulls from whom
//
// A member serves at most two pullers, or one if the object is larger than 64 MiB. A puller that has begun serves what it has
// already. So the pullers of an object form a tree, for a large object a chain, and a broadcast takes one transfer and a chunk for each
// hop. A puller gets the whole member that serves the fewest, else the member that began first among those that have room. It waits for the
// answer while the object is being written, and while all are busy. A puller never gets one that pulls from it, directly or through others.
// A puller of a whole member also gets up to three other whole members that serve nobody, one for each 8 MiB of the object.
//
// A puller that cannot read from its member says so (Failed) and asks again (Where). It gets another one; when it has failed with all of
// them it gets any. So a connection that breaks loses no object. Only a member that says that it does not have the object is taken out.
//
// # Invariants
//
//   - An entry has exactly one primary: the node that makes the object, or a whole member.
//   - Each Where is answered once, by At or by Lost, unless its node dies.
//   - All members of an object that its owner frees are told, whole or not.
//   - The primary is never dropped.
//   - No member serves more than its bound.
package dir
