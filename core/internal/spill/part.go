package spill

import (
	"fmt"
	"hash/crc32"
)

// Sizes of what is read by ReadPart. The last part, and the last piece of a part, may be shorter.
const (
	PartSize  = 8 << 20 // a part can be read by itself
	PieceSize = chunk   // of a part so much is passed on at a time
)

// sumUp computes the checksums of an object that is not compressed.
func (r *Record) sumUp(b []byte) {
	r.sum, r.sums = 0, nil
	for len(b) > PartSize {
		r.sum = crc32.Update(r.sum, castagnoli, b[:PartSize])
		r.sums = append(r.sums, r.sum)
		b = b[PartSize:]
	}
	r.sum = crc32.Update(r.sum, castagnoli, b)
}

// HasParts reports whether ReadPart can be called: the object is not compressed.
func (r *Record) HasParts() bool { return !r.compressed && r.size > 0 }

// ReadPart reads the part of the object that begins at off, a multiple of PartSize, and passes it to f piece by piece. The
// part is verified at the end: after an error what f has got means nothing. The caller holds the record.
func (r *Record) ReadPart(off uint64, f func(piece []byte) error) error {
	if !r.HasParts() || off%PartSize != 0 || off >= r.size {
		return fmt.Errorf("object %s has no part at %d: it has %d bytes, compressed: %v", r.id, off, r.size, r.compressed)
	}
	i := int(off / PartSize)
	sum, want := uint32(0), r.sum
	if i > 0 {
		sum = r.sums[i-1]
	}
	if i < len(r.sums) {
		want = r.sums[i]
	}
	src, err := r.file.s.fs.Open(r.file.path)
	if err != nil {
		return fmt.Errorf("open the spilled copy of object %s: %w", r.id, err)
	}
	defer src.Close()
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	for end := min(off+PartSize, r.size); off < end; {
		b := (*buf)[:min(chunk, end-off)]
		if _, err := src.ReadAt(b, r.at+headerSize+int64(off)); err != nil {
			return r.failed(err)
		}
		sum = crc32.Update(sum, castagnoli, b)
		if err := f(b); err != nil {
			return err
		}
		off += uint64(len(b))
	}
	if sum != want {
		return fmt.Errorf("%w: checksum of a part of object %s in %s", ErrCorrupt, r.id, r.file.path)
	}
	return nil
}
