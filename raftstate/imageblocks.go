package raftstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A snapshot begins with a header, and goes on in blocks:
//
//	header   magic, 8 bytes; version of the layout, 4 bytes
//	block    length, 4 bytes; checksum, 4 bytes; so many bytes
//	end      a block of length 0, and then nothing
//
// Numbers are little endian. A block's checksum is the CRC-32C of everything that is before it, the block's length and
// its bytes. So no block can be changed, missing, doubled or exchanged, and nothing of a block is used before it was checked.
const (
	imageMagic   = "eagleray"
	imageLayout  = 2
	imageHeader  = len(imageMagic) + 4
	imageBlock   = 64 << 10 // of a block that is written
	maxImageRead = 1 << 20  // of a block that is read
)

// ErrDamagedSnapshot: a snapshot is not as it was written.
var ErrDamagedSnapshot = errors.New("the snapshot of the cluster's state is damaged")

// ErrNewerSnapshot: a newer version of Eagle Ray wrote a snapshot.
var ErrNewerSnapshot = errors.New("a newer version of Eagle Ray wrote the snapshot of the cluster's state. Start this head with that version, or a later one")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// blockWriter writes header and blocks. close writes the end.
type blockWriter struct {
	w   io.Writer
	sum uint32
	buf []byte // a block's length and checksum, and what was written of it so far
}

// blockHead is the room of a block's length and checksum.
const blockHead = 8

func newBlockWriter(w io.Writer) (*blockWriter, error) {
	head := binary.LittleEndian.AppendUint32([]byte(imageMagic), imageLayout)
	b := &blockWriter{w: w, sum: crc32.Checksum(head, castagnoli), buf: make([]byte, blockHead, blockHead+imageBlock)}
	_, err := w.Write(head)
	return b, err
}

func (b *blockWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := min(len(p), cap(b.buf)-len(b.buf))
		b.buf = append(b.buf, p[:k]...)
		p, n = p[k:], n+k
		if len(b.buf) == cap(b.buf) {
			if err := b.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes the block that was begun, or the end if it is empty.
func (b *blockWriter) flush() error {
	binary.LittleEndian.PutUint32(b.buf, uint32(len(b.buf)-blockHead))
	b.sum = crc32.Update(b.sum, castagnoli, b.buf[:4])
	b.sum = crc32.Update(b.sum, castagnoli, b.buf[blockHead:])
	binary.LittleEndian.PutUint32(b.buf[4:], b.sum)
	_, err := b.w.Write(b.buf)
	b.buf = b.buf[:blockHead]
	return err
}

func (b *blockWriter) close() error {
	if len(b.buf) > blockHead {
		if err := b.flush(); err != nil {
			return err
		}
	}
	return b.flush()
}

// blockReader gives the bytes in the blocks. It ends with io.EOF only at the end of an undamaged snapshot.
type blockReader struct {
	r     io.Reader
	sum   uint32
	at    int64        // bytes of the snapshot that were read
	block bytes.Buffer // what is left of a block that was checked
	err   error
}

// newBlockReader takes what follows the header, which was read and checked.
func newBlockReader(r io.Reader, header []byte) *blockReader {
	return &blockReader{r: r, sum: crc32.Checksum(header, castagnoli), at: int64(len(header))}
}

func (b *blockReader) Read(p []byte) (int, error) {
	for b.err == nil && b.block.Len() == 0 {
		b.err = b.next()
	}
	if b.block.Len() == 0 {
		return 0, b.err
	}
	return b.block.Read(p)
}

// next reads the next block.
func (b *blockReader) next() error {
	var head [blockHead]byte
	if err := b.full(head[:]); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > maxImageRead {
		return b.damaged("a block has %d bytes, and at most %d are allowed", length, maxImageRead)
	}
	b.block.Reset()
	if _, err := io.CopyN(&b.block, b.r, int64(length)); err != nil {
		return b.failed(err)
	}
	b.sum = crc32.Update(b.sum, castagnoli, head[:4])
	b.sum = crc32.Update(b.sum, castagnoli, b.block.Bytes())
	if want := binary.LittleEndian.Uint32(head[4:]); b.sum != want {
		b.block.Reset()
		return b.damaged("the checksum of a block is %#x, and that of the bytes up to there is %#x", want, b.sum)
	}
	b.at += int64(length)
	if length > 0 {
		return nil
	}
	switch n, err := io.ReadFull(b.r, head[:1]); {
	case n > 0:
		return b.damaged("there is more after its end")
	case errors.Is(err, io.EOF):
		return io.EOF
	default:
		return b.failed(err)
	}
}

// full reads all of p.
func (b *blockReader) full(p []byte) error {
	n, err := io.ReadFull(b.r, p)
	b.at += int64(n)
	if err != nil {
		return b.failed(err)
	}
	return nil
}

// failed makes an early end a damage.
func (b *blockReader) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b.damaged("it ends too early")
	}
	return err
}

func (b *blockReader) damaged(format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrDamagedSnapshot, b.at, fmt.Sprintf(format, args...))
}
