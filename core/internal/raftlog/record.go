package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// A record is one entry of the log: a header, the extensions, the data, and zeros up to a multiple of alignment. All
// numbers are little-endian.
//
//	 0  magic      4 bytes
//	 4  checksum   4 bytes, CRC-32C of all that follows in the record
//	 8  length     4 bytes, of extensions and data
//	12  extended   4 bytes, how many bytes of them are extensions
//	16  index      8 bytes
//	24  term       8 bytes
//	32  batch      8 bytes, the index of the first entry that was stored together with this one
//	40  appended   8 bytes, nanoseconds since 1970, 0 for unknown
//	48  type       1 byte, and 7 zeros
const (
	recordMagic  = 0x454c5231
	recordHeader = 56
	alignment    = 8

	// maxEntry caps what an entry brings. raftstate's commands have at most 16 MiB.
	maxEntry = 24 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errEnd: there is no record at this place, only zeros.
var errEnd = errors.New("the end of the log")

// recordSize returns how many bytes the entry takes.
func recordSize(l *raft.Log) int { return aligned(recordHeader + len(l.Extensions) + len(l.Data)) }

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

// appendRecord appends the record of an entry.
func appendRecord(b []byte, l *raft.Log, batch uint64) []byte {
	start := len(b)
	appended := int64(0)
	if !l.AppendedAt.IsZero() {
		appended = l.AppendedAt.UnixNano()
	}
	b = binary.LittleEndian.AppendUint32(b, recordMagic)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.Extensions)+len(l.Data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.Extensions)))
	b = binary.LittleEndian.AppendUint64(b, l.Index)
	b = binary.LittleEndian.AppendUint64(b, l.Term)
	b = binary.LittleEndian.AppendUint64(b, batch)
	b = binary.LittleEndian.AppendUint64(b, uint64(appended))
	b = append(b, byte(l.Type), 0, 0, 0, 0, 0, 0, 0)
	b = append(b, l.Extensions...)
	b = append(b, l.Data...)
	b = append(b, make([]byte, start+recordSize(l)-len(b))...)
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Checksum(b[start+8:], castagnoli))
	return b
}

// parsed is a record that was read. Its bytes are those that were parsed.
type parsed struct {
	entry raft.Log
	batch uint64
	size  int
}

// parseRecord reads the record at the beginning of b. errEnd means that nothing was written there; any other error says
// what is wrong.
func parseRecord(b []byte) (parsed, error) {
	if zeros(b[:min(len(b), recordHeader)]) {
		return parsed{}, errEnd
	}
	if len(b) < recordHeader {
		return parsed{}, fmt.Errorf("%d bytes are left, and a record has at least %d", len(b), recordHeader)
	}
	if magic := binary.LittleEndian.Uint32(b); magic != recordMagic {
		return parsed{}, fmt.Errorf("no record begins here: it begins with %#x", magic)
	}
	length, extended := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	if length > maxEntry || extended > length {
		return parsed{}, fmt.Errorf("the record has %d bytes, of which %d are extensions, and at most %d are allowed", length, extended, maxEntry)
	}
	size := aligned(recordHeader + int(length))
	if size > len(b) {
		return parsed{}, fmt.Errorf("the record has %d bytes, and %d are left", size, len(b))
	}
	if have, want := crc32.Checksum(b[8:size], castagnoli), binary.LittleEndian.Uint32(b[4:]); have != want {
		return parsed{}, fmt.Errorf("the record's checksum is %#x, and that of its bytes is %#x", want, have)
	}
	p := parsed{size: size, batch: binary.LittleEndian.Uint64(b[32:])}
	p.entry.Index, p.entry.Term = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	if at := int64(binary.LittleEndian.Uint64(b[40:])); at != 0 {
		p.entry.AppendedAt = time.Unix(0, at)
	}
	p.entry.Type = raft.LogType(b[48])
	body := b[recordHeader : recordHeader+length]
	if extended > 0 {
		p.entry.Extensions = body[:extended:extended]
	}
	p.entry.Data = body[extended:]
	return p, nil
}

func zeros(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
