package spill

import (
	"errors"
	"io"
	"io/fs"
)

// Gone reports whether the record is certainly not on disk any more: its file
// is not there, or ends before the record does. It does not verify the bytes,
// and what cannot be told counts as there. It may take as long as the disk.
func (r *Record) Gone() bool {
	f, err := r.file.s.fs.Open(r.file.path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	if r.stored == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], r.at+int64(r.stored)-1) // not after its end, however long its header is
	return errors.Is(err, io.EOF)
}
