// Package store holds objects in shared memory: the allocator of the node's
// arena, the envelope that every value travels in, the mapping of the arena
// into a process, and typed access for Go programs.
//
// Arena is arithmetic on offsets, for the daemon: it never touches memory.
// Mapping is one process's view of the memory. Envelopes are read without
// copying; every length in one is checked, so bytes from another process can
// be parsed as they are. docs/hot-api.md lists the formats.
//
// There are no goroutines here. Arena and Mapping are safe for concurrent use.
// Invariants:
//
//   - ranges that are handed out never overlap, and what is freed is found again
//     as one range with its free neighbours;
//   - a buffer of an envelope starts at a multiple of 64 bytes;
//   - Mapping.Slice is mapped without write permission.
package store
