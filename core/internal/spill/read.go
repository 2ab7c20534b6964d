package spill

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

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
