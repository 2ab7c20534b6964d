package client

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// A stored object lies in the arena, or, where that had no room, in a file that
// the daemon has made for it.

// create asks for room; the daemon answers when there is some. Anew: in place of
// what an earlier run of the task has written under this id. Program: the calling
// thread is the program's own, which handles signals.
func (c *Client) create(id ids.Object, size int, anew, program bool, stop <-chan struct{}) (at wire.ObjPlace, err error) {
	q := wire.ObjCreate{ObjectID: id[:], Size: uint64(size), Anew: anew}
	switch {
	case program && c.opts.Signals != nil:
		at, err = c.awaitRoom(id, &q, nil, c.opts.Signals)
	case stop != nil:
		at, err = c.awaitRoom(id, &q, stop, nil)
	default:
		err = c.call(wire.TObjCreate, &q, &at)
	}
	if err == nil && at.Size < uint64(size) {
		err = fault.New(fault.Internal, "object %s: the store gave %d of %d bytes", id, at.Size, size)
	}
	return at, err
}

// writer writes to the place of an object that is being created.
type writer struct {
	arena *store.Mapping
	off   uint64
	file  *os.File
}

func (c *Client) writer(at wire.ObjPlace) (*writer, error) {
	if at.Path == "" {
		return &writer{arena: c.arena, off: at.Offset}, nil
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

// fill writes an object to its place and seals it, or gives the place back.
func (c *Client) fill(id ids.Object, at wire.ObjPlace, seal wire.Type, f func(*writer) error) error {
	w, err := c.writer(at)
	if err == nil {
		err = f(w)
		if e := w.close(); err == nil {
			err = e
		}
	}
	if err == nil {
		return c.daemon.PushNow(seal, wire.ObjRef{ObjectID: id[:]}) // before anybody hears of it: this process may end then
	}
	c.push(wire.TObjFree, wire.ObjRefs{ObjectIDs: [][]byte{id[:]}})
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return fault.New(fault.OutOfDisk, "object %s of %d bytes: the disk became full while it was written: %v. Free references, make room on the disk, or name a directory of a larger one with object_spilling_directory", id, at.Size, err)
	}
	return fmt.Errorf("write object %s: %w", id, err)
}

// bytes returns the memory of a view.
func (c *Client) bytes(v *view) ([]byte, error) {
	if v.file != nil {
		return v.file.Bytes(), nil
	}
	return c.arena.Slice(v.off, v.size)
}
