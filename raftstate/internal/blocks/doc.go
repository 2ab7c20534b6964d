// Package blocks puts a stream of bytes under checksums, so that nothing of it is used before it was checked.
//
//	header   what the caller likes
//	block    length, 4 bytes; checksum, 4 bytes; so many bytes
//	end      a block of length 0, and then nothing
//
// Numbers are little endian. A block's checksum is the CRC-32C of everything that is before it, the block's length and
// its bytes. So no block can be changed, missing, doubled or exchanged without a Damage. A block that is written has at most 64 KiB; one of more
// than a mebibyte is not read.
//
// There are no goroutines and no locks: a Writer or Reader belongs to one goroutine.
package blocks
