// Package record holds what the replicated state remembers: actors, nodes,
// jobs, and the events that tell of their changes. raftstate stores them and
// head works with them; this package is what the two share, so that neither
// needs the other.
//
// Records are values that never change once they are in the state: every
// change stores a new record. A record handed out may therefore share its maps
// and byte slices with the state. Read them, never write to them.
//
// Records travel as msgpack maps: a field may be added, an old reader skips it
// and a new reader finds it empty. Field names are never reused.
//
// The package imports only the leaves ids and fault. It starts no goroutine.
package record
