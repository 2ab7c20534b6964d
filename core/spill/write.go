package spill

import (
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/eagleray/eagleray/core/ids"
)

// Item is one object to write.
type Item struct {
	ID    ids.Object
	Bytes []byte
}

// Write writes the objects into one file, in the directory whose turn it is, or in the next
// directory when that fails. It returns a record for each object. The record of an object that
// could not be written is nil; then there is an error, too.
func (s *Store) Write(items []Item) ([]*Record, error) {
	out := make([]*Record, len(items))
	var failed error
	for range s.dirs {
		u, err := s.begin(false)
		if err != nil {
			return out, joined(failed, err)
		}
		err = s.writeTo(u.d, items, out)
		u.end(err)
		if err == nil {
			return out, nil
		}
		failed = joined(failed, err)
	}
	return out, failed
}

// joined returns the first error, or the second one if only that says that a disk is full.
func joined(first, second error) error {
	if first == nil || IsFull(second) && !IsFull(first) {
		return second
	}
	return first
}

// writeTo writes the items that have no record in out yet.
func (s *Store) writeTo(d *dir, items []Item, out []*Record) (err error) {
	f := &file{s: s, path: s.name(d, "objects")}
	w, err := s.create(d, f.path)
	if err != nil {
		return fmt.Errorf("spill to %s: %w", d.path, err)
	}
	f.live.Store(1) // one for this function, see release
	defer f.release()
	defer func() {
		if e := w.Close(); e != nil && err == nil {
			err = fmt.Errorf("spill to %s: %w", d.path, e)
		}
	}()
	var past *directWriter // nil: everything through the page cache
	if !s.cacheTakes(items, out) && !d.buffers.Load() {
		past = &directWriter{s: s, d: d, file: f, buffered: w}
		defer past.close()
	}
	at := int64(0)
	for i := range items {
		if out[i] != nil {
			continue
		}
		b := items[i].Bytes
		r := &Record{id: items[i].ID, file: f, at: at, size: uint64(len(b)), compressed: s.probe.worthIt(b)}
		if past != nil && !r.compressed && canBypassCache(b) {
			r.stored = r.size
			at, err = past.add(r, b, at, &out[i])
		} else {
			err = s.writeCached(r, w, b)
			at += headerSize + int64(r.stored)
			at = (at + recordAlign - 1) &^ (recordAlign - 1)
			if err == nil {
				out[i] = f.holds(r)
			}
		}
		if err != nil {
			return fmt.Errorf("spill to %s: %w", d.path, err)
		}
	}
	if past != nil {
		if err := past.flush(); err != nil {
			return fmt.Errorf("spill to %s: %w", d.path, err)
		}
	}
	return nil
}

// writeCached writes one record through the page cache, and measures what that costs.
func (s *Store) writeCached(r *Record, w io.WriterAt, b []byte) error {
	if r.compressed || s.cache == nil {
		return r.write(w, b)
	}
	return s.cost.measure(int64(len(b)), func() error { return r.write(w, b) })
}

// write writes one record at its place: first the bytes, then the header.
func (r *Record) write(w io.WriterAt, b []byte) error {
	out := &summing{w: w, at: r.at + headerSize}
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
			if _, err := out.Write(b[i:min(i+chunk, len(b))]); err != nil {
				return err
			}
		}
	}
	r.stored = uint64(out.at - r.at - headerSize)
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

var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false))
	if err != nil {
		panic("spill: " + err.Error()) // constant options
	}
	return e
}}
