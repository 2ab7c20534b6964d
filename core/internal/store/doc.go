// Package store holds objects in shared memory. It has four parts: Arena, the allocator of
// the node's memory; Envelope, the form in which every value travels; Mapping, the memory
// as one process sees it; and typed access for Go programs (NDArray, DecodePlain).
//
// Arena computes offsets for the daemon and never touches memory. Envelopes are read
// without copying; every length in an envelope is checked, so bytes from another process
// can be parsed as they are. docs/hot-api.md lists the formats.
//
// # The arena
//
// The arena is one sealed memfd per node. A process gets its descriptor in the handshake
// and maps it once, read-only (mapping.go). Arena prefers ranges whose pages exist. A
// process writes a range of small pages with pwrite the first time. The second time it
// maps the range and copies with up to four threads (copy.go).
//
// A write of 2 MiB or more makes huge pages of the blocks of 2 MiB that it covers and that
// have no pages yet: it makes one small page, calls MADV_COLLAPSE and copies, 4 MiB at a
// time on up to four cores (huge.go, parts.go). When a huge page costs more than 0.6 ms of
// a processor's time, or none is free, small pages are used for a while. Kernels before
// 6.1 have small pages only. From 256 MiB on, blocks of zeros become holes of the file
// (sparse.go).
//
// Views outlive their reference and the session, since the mapping stays until the last
// view is gone. A Go program may leave a cluster that goes on; the content of its views is
// copied to the same addresses first (detach.go).
//
// # Goroutines and invariants
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
