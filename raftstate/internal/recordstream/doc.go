// Package recordstream has the form of a snapshot: how records become bytes and come back. What the records say is its user's business.
//
//	header   magic, 8 bytes; version of the layout, 4 bytes
//	blocks   bytes under checksums, see package blocks. They hold
//	zstd     one stream, and that holds
//	records  length, 4 bytes; kind, version and body, a msgpack sequence
//	end      the last record, which says how many are before it
//
// Numbers of the header and lengths are little endian. Records are written and read one by one, so a stream takes the memory of the compressor's window
// and of one record.
//
// What was damaged is refused with ErrDamaged. A layout, a kind or a version of a kind that the reader does not know is refused with ErrNewer. Nothing of a
// record is used before its checksum was checked.
//
// There are no goroutines and no locks: a call reads or writes one stream. The files: write.go, read.go.
package recordstream
