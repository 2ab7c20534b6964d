package sessionlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// An entry in the file: a checksum of the rest, the index, the term, the kind, the time, the length of the data, the data, and what
// extends it. Numbers are little-endian.
const entryHead = 4 + 8 + 8 + 1 + 8 + 4

var checksums = crc32.MakeTable(crc32.Castagnoli)

func encode(l *raft.Log) []byte {
	b := make([]byte, 4, entryHead+len(l.Data)+len(l.Extensions))
	b = binary.LittleEndian.AppendUint64(b, l.Index)
	b = binary.LittleEndian.AppendUint64(b, l.Term)
	b = append(b, byte(l.Type))
	at := int64(0)
	if !l.AppendedAt.IsZero() {
		at = l.AppendedAt.UnixNano()
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(at))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.Data)))
	b = append(append(b, l.Data...), l.Extensions...)
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], checksums))
	return b
}

// decode reads the entry with that index. It keeps nothing of b.
func decode(b []byte, index uint64, to *raft.Log) error {
	if len(b) < entryHead {
		return fmt.Errorf("%w: it has %d bytes", ErrDamaged, len(b))
	}
	if binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:], checksums) {
		return fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	l := raft.Log{
		Index: binary.LittleEndian.Uint64(b[4:]), Term: binary.LittleEndian.Uint64(b[12:]), Type: raft.LogType(b[20]),
	}
	if at := int64(binary.LittleEndian.Uint64(b[21:])); at != 0 {
		l.AppendedAt = time.Unix(0, at)
	}
	size := uint64(binary.LittleEndian.Uint32(b[29:]))
	if rest := b[entryHead:]; size > uint64(len(rest)) || l.Index != index {
		return fmt.Errorf("%w: it says that it is entry %d with %d bytes of data", ErrDamaged, l.Index, size)
	} else {
		l.Data = append([]byte{}, rest[:size]...)
		if len(rest) > int(size) {
			l.Extensions = append([]byte{}, rest[size:]...)
		}
	}
	*to = l
	return nil
}
