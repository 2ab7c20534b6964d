package blocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

const (
	headSize = 8        // of a block's length and checksum
	written  = 64 << 10 // bytes in a block that is written
	maxRead  = 1 << 20  // bytes in a block that is read
)

// Damage says that a stream is not as it was written.
type Damage struct {
	At   int64 // bytes of the stream, from its header on, that were read
	What string
}

func (d *Damage) Error() string { return fmt.Sprintf("at byte %d: %s", d.At, d.What) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer writes a header and blocks.
type Writer struct {
	w   io.Writer
	sum uint32
	buf []byte // a block's length and checksum, and what was written of it so far
}

// NewWriter writes the header.
func NewWriter(w io.Writer, header []byte) (*Writer, error) {
	b := &Writer{w: w, sum: crc32.Checksum(header, castagnoli), buf: make([]byte, headSize, headSize+written)}
	_, err := w.Write(header)
	return b, err
}

// Write implements io.Writer. What was written is in the stream when Close has returned.
func (b *Writer) Write(p []byte) (n int, err error) {
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
func (b *Writer) flush() error {
	binary.LittleEndian.PutUint32(b.buf, uint32(len(b.buf)-headSize))
	b.sum = crc32.Update(b.sum, castagnoli, b.buf[:4])
	b.sum = crc32.Update(b.sum, castagnoli, b.buf[headSize:])
	binary.LittleEndian.PutUint32(b.buf[4:], b.sum)
	_, err := b.w.Write(b.buf)
	b.buf = b.buf[:headSize]
	return err
}

// Close writes the end of the stream.
func (b *Writer) Close() error {
	if len(b.buf) > headSize {
		if err := b.flush(); err != nil {
			return err
		}
	}
	return b.flush()
}

// Reader gives the bytes in the blocks. It ends with io.EOF only at the end of an undamaged stream.
type Reader struct {
	r     io.Reader
	sum   uint32
	at    int64        // bytes of the stream that were read
	block bytes.Buffer // what is left of a block that was checked
	err   error
}

// NewReader takes what follows the header, which was read and checked.
func NewReader(r io.Reader, header []byte) *Reader {
	return &Reader{r: r, sum: crc32.Checksum(header, castagnoli), at: int64(len(header))}
}

// Read implements io.Reader.
func (b *Reader) Read(p []byte) (int, error) {
	for b.err == nil && b.block.Len() == 0 {
		if b.err = b.next(); b.err != nil {
			b.block.Reset() // what was read of it was not checked
		}
	}
	if b.block.Len() == 0 {
		return 0, b.err
	}
	return b.block.Read(p)
}

// next reads the next block.
func (b *Reader) next() error {
	var head [headSize]byte
	if err := b.full(head[:]); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > maxRead {
		return b.damaged("a block has %d bytes, and at most %d are allowed", length, maxRead)
	}
	b.block.Reset()
	if _, err := io.CopyN(&b.block, b.r, int64(length)); err != nil {
		return b.failed(err)
	}
	b.sum = crc32.Update(b.sum, castagnoli, head[:4])
	b.sum = crc32.Update(b.sum, castagnoli, b.block.Bytes())
	if want := binary.LittleEndian.Uint32(head[4:]); b.sum != want {
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
func (b *Reader) full(p []byte) error {
	n, err := io.ReadFull(b.r, p)
	b.at += int64(n)
	if err != nil {
		return b.failed(err)
	}
	return nil
}

// failed makes an early end a damage.
func (b *Reader) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return b.damaged("it ends too early")
	}
	return err
}

func (b *Reader) damaged(format string, args ...any) error {
	return &Damage{b.at, fmt.Sprintf(format, args...)}
}
