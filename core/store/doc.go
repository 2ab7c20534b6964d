// Package store holds objects in shared memory. It has four parts: Arena, the allocator of
// the node's memory; Envelope, the form in which every value travels; Mapping, the memory
// as one process sees it; and typed access for Go programs (NDArray, DecodePlain).
//
// Arena computes offsets for the daemon and never touches memory. Envelopes are read
// without copying; every length in an envelope is checked, so bytes from another process
// can be parsed as they are. docs/hot-api.md lists the formats.
//
// The package starts no goroutine that outlives a call. Arena and Mapping are safe for
// concurrent use.
//
// Invariants:
//
//   - ranges that are handed out never overlap, and a freed range becomes one range with
//     its free neighbours;
//   - a buffer of an envelope starts at a multiple of 64 bytes;
//   - the memory that Mapping.Slice returns cannot be written.
package store
