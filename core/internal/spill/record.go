package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The header of a record:
//
//	0  magic, 4 bytes
//	4  1: zstd
//	8  object id, 28 bytes
//	40 size of the object
//	48 bytes stored
//	56 checksum of the bytes stored
//	60 checksum of the header before this
const (
	headerSize  = 64
	headerMagic = "ErS1"
	recordAlign = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Size returns the object's bytes.
func (r *Record) Size() uint64 { return r.size }

// Stored returns the bytes on disk, the header excepted.
func (r *Record) Stored() uint64 { return r.stored }

// Raw returns where the object's bytes are, if they are not compressed.
func (r *Record) Raw() (path string, off uint64, ok bool) {
	return r.file.path, uint64(r.at) + headerSize, !r.compressed && r.size > 0
}

// Path returns the file that the record is in.
func (r *Record) Path() string { return r.file.path }

// Cached reports whether the bytes went through the page cache: reading them where
// they lie is cheap then.
func (r *Record) Cached() bool { return !r.direct }

// holds notes that the record is in the file.
func (f *file) holds(r *Record) *Record {
	f.live.Add(1)
	if !r.direct {
		f.s.cached.Add(int64(r.stored))
	}
	return r
}

func (r *Record) header(sum uint32) []byte {
	h := make([]byte, headerSize)
	copy(h, headerMagic)
	if r.compressed {
		h[4] = 1
	}
	copy(h[8:], r.id[:])
	binary.LittleEndian.PutUint64(h[40:], r.size)
	binary.LittleEndian.PutUint64(h[48:], r.stored)
	binary.LittleEndian.PutUint32(h[56:], sum)
	binary.LittleEndian.PutUint32(h[60:], crc32.Checksum(h[:60], castagnoli))
	return h
}

// check compares the header on disk with what was written.
func (r *Record) check(h []byte) (sum uint32, err error) {
	want := r.header(binary.LittleEndian.Uint32(h[56:]))
	if string(h) != string(want) {
		return 0, fmt.Errorf("%w: header of object %s in %s", ErrCorrupt, r.id, r.file.path)
	}
	return binary.LittleEndian.Uint32(h[56:]), nil
}

// chunk is how much is read at a time: it stays in a core's cache between the
// disk, the checksum and the arena.
const chunk = 256 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

func (r *Record) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the file ends too early", ErrCorrupt)
	}
	return fmt.Errorf("read the spilled copy of object %s in %s: %w", r.id, r.file.path, err)
}

// write writes one record at its place: first the bytes, then the header.
func (r *Record) write(w io.WriterAt, b []byte) error {
	out := &summing{w: w, at: r.at + headerSize}
	r.sums = nil
	if r.compressed {
		e := encoders.Get().(*zstd.Encoder)
		defer encoders.Put(e)
		e.Reset(out)
		_, err := e.Write(b)
		if cerr := e.Close(); err == nil {
			err = cerr
		}
		e.Reset(nil)
		if err != nil {
			return err
		}
	} else {
		// In pieces, so that the summed bytes are still in the processor's cache when they are written.
		for i := 0; i < len(b); i += chunk {
			if i > 0 && i%PartSize == 0 {
				r.sums = append(r.sums, out.sum)
			}
			if _, err := out.Write(b[i:min(i+chunk, len(b))]); err != nil {
				return err
			}
		}
	}
	r.stored = uint64(out.at - r.at - headerSize)
	r.sum = out.sum
	_, err := w.WriteAt(r.header(out.sum), r.at)
	return err
}

// summing is a writer that computes a checksum of what it writes.
type summing struct {
	w   io.WriterAt
	at  int64
	sum uint32
}

func (s *summing) Write(b []byte) (int, error) {
	s.sum = crc32.Update(s.sum, castagnoli, b)
	n, err := s.w.WriteAt(b, s.at)
	s.at += int64(n)
	return n, err
}
