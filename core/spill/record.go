package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/eagleray/eagleray/core/ids"
)

// ErrCorrupt reports bytes on disk that are not those that were written.
var ErrCorrupt = errors.New("the copy on disk is damaged")

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

// Record is one object's copy on disk. It lasts until Release.
type Record struct {
	id         ids.Object
	file       *file
	at         int64 // of the header
	size       uint64
	stored     uint64
	compressed bool
	direct     bool // it passed the page cache by; its pages in the file are its own
}

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

// Release says that the record is not needed any more. It must be called once.
// It does not wait for the disk.
func (r *Record) Release() {
	s := r.file.s
	if !r.direct {
		s.cached.Add(-int64(r.stored))
	}
	if left := r.file.release(); left && r.stored >= punchFrom {
		from, to := r.at, r.at+headerSize+int64(r.stored)
		if r.direct { // parts of pages would be read to be zeroed
			from, to = from&^(pageSize-1), pages(to)
		}
		s.later(func() { _ = s.fs.Punch(r.file.path, from, to-from) }) // else it goes with the file
	}
}

// punchFrom is the size from which on a record is worth giving back before its file goes.
const punchFrom = 1 << 20

// file is a batch's file; it goes with its last record.
type file struct {
	s    *Store
	path string
	live atomic.Int64
}

// holds notes that the record is in the file.
func (f *file) holds(r *Record) *Record {
	f.live.Add(1)
	if !r.direct {
		f.s.cached.Add(int64(r.stored))
	}
	return r
}

// release reports whether other records are left.
func (f *file) release() bool {
	if f.live.Add(-1) > 0 {
		return true
	}
	f.s.Remove(f.path)
	return false
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

// Read writes the object to dst, from offset 0 on, and verifies it. What is in
// dst after an error means nothing.
func (r *Record) Read(dst io.WriterAt) error {
	if r.direct {
		if done, err := r.readDirect(dst); done {
			return err
		}
	}
	f, err := r.file.s.fs.Open(r.file.path)
	if err != nil {
		return fmt.Errorf("open the spilled copy of object %s: %w", r.id, err)
	}
	defer f.Close()
	var h [headerSize]byte
	if _, err := f.ReadAt(h[:], r.at); err != nil {
		return r.failed(err)
	}
	want, err := r.check(h[:])
	if err != nil {
		return err
	}
	src := &summed{r: io.NewSectionReader(f, r.at+headerSize, int64(r.stored))}
	n, err := r.copyTo(dst, src)
	if err != nil {
		return r.failed(err)
	}
	if n != r.size || src.n != r.stored || src.sum != want {
		return fmt.Errorf("%w: checksum of object %s in %s", ErrCorrupt, r.id, r.file.path)
	}
	return nil
}

func (r *Record) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the file ends too early", ErrCorrupt)
	}
	return fmt.Errorf("read the spilled copy of object %s in %s: %w", r.id, r.file.path, err)
}

// summed reads and sums.
type summed struct {
	r   io.Reader
	n   uint64
	sum uint32
}

func (s *summed) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.n += uint64(n)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	return n, err
}

var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic("spill: " + err.Error()) // constant options
	}
	return d
}}

func (r *Record) copyTo(dst io.WriterAt, src *summed) (uint64, error) {
	from := io.Reader(src)
	if r.compressed {
		d := decoders.Get().(*zstd.Decoder)
		defer decoders.Put(d)
		if err := d.Reset(src); err != nil {
			return 0, fmt.Errorf("%w: %v", ErrCorrupt, err)
		}
		defer d.Reset(nil) //nolint:errcheck // lets go of the file
		from = d
	}
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	at := uint64(0)
	for at < r.size {
		n, err := io.ReadFull(from, (*buf)[:min(chunk, r.size-at)])
		if n > 0 {
			if _, werr := dst.WriteAt((*buf)[:n], int64(at)); werr != nil {
				return at, werr
			}
			at += uint64(n)
		}
		if err != nil {
			if r.compressed && !errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: %v", ErrCorrupt, err)
			}
			return at, err
		}
	}
	if r.compressed {
		// To the end of the frame, so that every stored byte is in the sum.
		if n, err := from.Read((*buf)[:1]); n != 0 || !errors.Is(err, io.EOF) {
			return at, fmt.Errorf("%w: more than was written", ErrCorrupt)
		}
	}
	return at, nil
}
