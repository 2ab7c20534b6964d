package localstore

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// A stored object lies in the arena, or, where that had no room, in a file that
// the daemon has made for it.

// writer writes to the place of an object that is being created.
type writer struct {
	arena *store.Mapping
	off   uint64
	file  *os.File
}

func (s *Store) writer(at wire.ObjPlace) (*writer, error) {
	if at.Path == "" {
		return &writer{arena: s.mapping.Mapping, off: at.Offset}, nil
	}
	f, err := os.OpenFile(at.Path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return &writer{file: f}, nil
}

func (w *writer) write(at int, b []byte) error {
	if w.file == nil {
		return w.arena.WriteAt(w.off+uint64(at), b)
	}
	_, err := w.file.WriteAt(b, int64(at))
	return err
}

func (w *writer) close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// Value is a serialised value that is written to the store. Nothing keeps it.
type Value struct {
	Format store.Format
	Meta   []byte
	Bufs   [][]byte
}

// Write writes an envelope of the value to its place and seals it, or gives the place
// back. Pinned: it stays pinned for this process, see Written. Write needs no mutex.
func (s *Store) Write(id ids.Object, at wire.ObjPlace, v Value, pinned bool) error {
	lens := make([]int, len(v.Bufs))
	for i, b := range v.Bufs {
		lens[i] = len(b)
	}
	_, offs := store.Layout(len(v.Meta), lens, nil)
	return s.fill(id, at, pinned, func(w *writer) error {
		if err := w.write(0, store.AppendHeader(nil, v.Format, v.Meta, lens)); err != nil {
			return err
		}
		for i, b := range v.Bufs {
			if err := w.write(offs[i], b); err != nil {
				return err
			}
		}
		return nil
	})
}

// fill writes an object to its place and seals it, or gives the place back.
func (s *Store) fill(id ids.Object, at wire.ObjPlace, pinned bool, f func(*writer) error) error {
	w, err := s.writer(at)
	if err == nil {
		err = f(w)
		if e := w.close(); err == nil {
			err = e
		}
	}
	if err == nil {
		return s.daemon.Seal(id, pinned) // before anybody hears of the object: this process may end then
	}
	s.daemon.Free([][]byte{raw(id)})
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return fault.New(fault.OutOfDisk, "object %s of %d bytes: the disk became full while it was written: %v. Free references, make room on the disk, or name a directory of a larger one with object_spilling_directory", id, at.Size, err)
	}
	return fmt.Errorf("write object %s: %w", id, err)
}
