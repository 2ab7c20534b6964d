package spill

import (
	"fmt"
	"io"
)

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
