package pulls

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/spill"
)

// What is said on a bulk connection. The node that dialed asks, as often as it likes, and may ask for the next chunk before the last one has come:
//
//	0  magic, 4 bytes
//	4  1: a chunk; 2: the object is not needed any more
//	8  object id, 28 bytes
//	36 version
//	44 offset
//	52 length
//	56 checksum of the bytes before
//
// A chunk is answered by a head, and behind it so many bytes:
//
//	0  1: the chunk, with its checksum in 4 bytes behind it; 2: the object is not here; 3: a text says what failed;
//	   4: the chunk is not here yet, and another answer follows; 5: the chunk in compressed pieces, with its checksum in 4 bytes behind them
//	4  length of the chunk or of the text
//
// Each 256 KiB of a chunk are a piece. A compressed one is its length in 4 bytes, and a block of s2. If the length is that of the piece, the piece follows as it is.
// The checksum is always that of the chunk as it is in the object.
//
// Numbers are little endian, checksums are CRC-32C.
const (
	requestSize  = 60
	requestMagic = "ErB1"
	headSize     = 8
	sumSize      = 4

	askChunk   = 1
	askRelease = 2

	saysChunk  = 1
	saysAbsent = 2
	saysFailed = 3
	saysWait   = 4
	saysPacked = 5
)

// chunkSize is how much of an object is asked for at a time, and the most that may be.
const chunkSize = spill.PartSize

// maxText bounds the text of a failure, in bytes.
const maxText = 1 << 10

// Errors of a transfer.
var (
	errAbsent = errors.New("the node does not have the object")
	errSum    = errors.New("a chunk came with a wrong checksum")
	errFormat = errors.New("what came on a bulk connection is malformed")
)

// request asks for a part of an object.
type request struct {
	kind    byte
	id      ids.Object
	version uint64
	off     uint64
	n       uint32
}

func (q *request) append(b []byte) []byte {
	start := len(b)
	b = append(b, requestMagic...)
	b = append(b, q.kind, 0, 0, 0)
	b = append(b, q.id[:]...)
	b = binary.LittleEndian.AppendUint64(b, q.version)
	b = binary.LittleEndian.AppendUint64(b, q.off)
	b = binary.LittleEndian.AppendUint32(b, q.n)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// parseRequest reads the requestSize bytes of a request.
func parseRequest(b []byte) (q request, err error) {
	if string(b[:4]) != requestMagic || binary.LittleEndian.Uint32(b[56:]) != crc32.Checksum(b[:56], castagnoli) {
		return q, fmt.Errorf("%w: no request", errFormat)
	}
	q = request{
		kind: b[4], id: ids.Object(b[8:36]), version: binary.LittleEndian.Uint64(b[36:]), off: binary.LittleEndian.Uint64(b[44:]), n: binary.LittleEndian.Uint32(b[52:]),
	}
	if q.kind != askChunk && q.kind != askRelease || q.n > chunkSize || (q.n == 0) == (q.kind == askChunk) {
		return q, fmt.Errorf("%w: a request of kind %d for %d bytes", errFormat, q.kind, q.n)
	}
	return q, nil
}

// within reports whether an object of so many bytes has what is asked for.
func (q *request) within(size uint64) bool { return q.off <= size && uint64(q.n) <= size-q.off }

func appendHead(b []byte, says byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(append(b, says, 0, 0, 0), n)
}

// answer reads the answer to a request for a chunk to its place.
func (r room) answer(src io.Reader, q *request) error {
	var h [headSize]byte
	says, n := byte(saysWait), uint32(0)
	for says == saysWait && n == 0 {
		if _, err := io.ReadFull(src, h[:]); err != nil {
			return err
		}
		says, n = h[0], binary.LittleEndian.Uint32(h[4:])
	}
	switch {
	case says == saysAbsent && n == 0:
		return errAbsent
	case says == saysFailed && n <= maxText:
		text := make([]byte, n)
		if _, err := io.ReadFull(src, text); err != nil {
			return err
		}
		return fmt.Errorf("the node cannot read the object: %q", text)
	case says != saysChunk && says != saysPacked || n != q.n:
		return fmt.Errorf("%w: an answer of kind %d with %d bytes to a request for %d", errFormat, says, n, q.n)
	}
	receive := r.receive
	if says == saysPacked {
		receive = r.receivePacked
	}
	sum, err := receive(src, q.off, uint64(n))
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(src, h[:sumSize]); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(h[:]) != sum {
		return errSum
	}
	return nil
}
