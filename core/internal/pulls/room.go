package pulls

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/spill"
	"github.com/eagleray/eagleray/core/internal/store"
)

// piece is how much is read or written at a time: it stays in a core's cache between the socket and the checksum.
const piece = spill.PieceSize

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var pieces = sync.Pool{New: func() any { b := make([]byte, piece); return &b }}

// arena is the mapping of the store's arena. It is made when it is needed first.
type arena struct {
	fd   int
	size uint64

	mu      sync.Mutex
	mapping *store.Mapping
	closed  bool
}

func (a *arena) open() (*store.Mapping, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, store.ErrMappingClosed
	}
	if a.mapping != nil {
		return a.mapping, nil
	}
	m, err := store.Map(a.fd, a.size)
	a.mapping = m
	return m, err
}

func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.mapping != nil {
		_ = a.mapping.Close() // nobody uses it any more
	}
}

// room is where the bytes of an object are or go: in the arena, or in a file.
type room struct {
	arena *arena
	at    objects.Place
	disk  objects.Spilled // not nil: the object is only read, from its copy on disk
}

// pieces passes n bytes of the object from off on to f, at most piece bytes at a time.
func (r room) pieces(off, n uint64, f func([]byte) error) error {
	switch {
	case r.disk != nil:
		return r.disk.ReadPart(off, f)
	case r.at.Path != "":
		return r.piecesOfFile(off, n, f)
	}
	m, err := r.arena.open()
	if err != nil {
		return err
	}
	src, err := m.Slice(r.at.Off+off, n)
	if err != nil {
		return err
	}
	for len(src) > 0 {
		b := src[:min(piece, len(src))]
		if err := f(b); err != nil {
			return err
		}
		src = src[len(b):]
	}
	return nil
}

func (r room) piecesOfFile(off, n uint64, f func([]byte) error) error {
	file, err := os.Open(r.at.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := pieces.Get().(*[]byte)
	defer pieces.Put(buf)
	for at := r.at.Off + off; n > 0; {
		b := (*buf)[:min(piece, n)]
		if _, err := file.ReadAt(b, int64(at)); err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
		at, n = at+uint64(len(b)), n-uint64(len(b))
	}
	return nil
}

// fill has f fill n bytes of the object from off on, at most piece bytes at a time, and returns their checksum.
func (r room) fill(off, n uint64, f func([]byte) error) (sum uint32, err error) {
	if r.at.Path != "" {
		return r.fillFile(off, n, f)
	}
	m, err := r.arena.open()
	if err != nil {
		return 0, err
	}
	dst, err := m.Pages(r.at.Off+off, n)
	if err != nil {
		return 0, err
	}
	for dst = dst[:n]; len(dst) > 0; {
		b := dst[:min(piece, len(dst)):min(piece, len(dst))]
		if err := f(b); err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, castagnoli, b)
		dst = dst[len(b):]
	}
	return sum, nil
}

func (r room) fillFile(off, n uint64, f func([]byte) error) (sum uint32, err error) {
	file, err := os.OpenFile(r.at.Path, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close() // what is written is there when WriteAt returns
	buf := pieces.Get().(*[]byte)
	defer pieces.Put(buf)
	for at := r.at.Off + off; n > 0; {
		b := (*buf)[:min(piece, n)]
		if err := f(b); err != nil {
			return 0, err
		}
		if _, err := file.WriteAt(b, int64(at)); err != nil {
			return 0, fmt.Errorf("write to a file that stands for memory: %w", err)
		}
		sum = crc32.Update(sum, castagnoli, b)
		at, n = at+uint64(len(b)), n-uint64(len(b))
	}
	return sum, nil
}

// receive reads n bytes of the object from a connection to their place, and returns their checksum.
func (r room) receive(src io.Reader, off, n uint64) (sum uint32, err error) {
	return r.fill(off, n, func(b []byte) error {
		_, err := io.ReadFull(src, b)
		return err
	})
}
