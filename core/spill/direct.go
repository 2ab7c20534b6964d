package spill

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"unsafe"
)

// The page cache takes the first objects that are spilled: writing to it and reading
// from it costs a copy. Of much more, the kernel makes the writer wait, and what it does
// for each page costs more than the disk's transfer. Beyond Options.Cache bytes, records
// pass it by:
//
//	… │ page: zeros, header at its end │ pages: the object │ page: the object's tail, zeros │ …
//
// The header lies right before the bytes, as in other records; only, the bytes begin with a page.
const (
	pageSize = 4096
	// passFrom is the size from which on an object may pass the page cache by.
	passFrom = 64 << 10
	// transfer is how much is moved at a time, where a batch has so much.
	transfer = 8 << 20
	// margins is the memory for the headers and tails of one transfer.
	margins = 512 << 10
)

// Pages is a destination of Record.Read that can be read into directly.
type Pages interface {
	// Pages returns writable memory for size bytes, rounded up to whole pages, at a multiple
	// of pageSize. False: it cannot be had.
	Pages(size uint64) ([]byte, bool)
}

func pages(n int64) int64 { return (n + pageSize - 1) &^ (pageSize - 1) }

func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%pageSize == 0 }

// passes reports whether an object can be written without the page cache.
func passes(b []byte) bool { return len(b) >= passFrom && aligned(b) }

// cacheTakes reports whether the page cache is to take what out has no record for.
func (s *Store) cacheTakes(items []Item, out []*Record) bool {
	if s.cache == nil {
		return true
	}
	before := uint64(max(s.cached.Load(), 0))
	all := before
	for i := range items {
		if out[i] == nil {
			all += uint64(len(items[i].Bytes))
		}
	}
	return all <= s.cache() && s.warmth.takes(int64(all-before))
}

// alignedPages returns n bytes at a multiple of pageSize.
func alignedPages(n int) []byte {
	b := make([]byte, n+pageSize-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageSize
	return b[skip:][:n:n]
}

var (
	marginPool = sync.Pool{New: func() any { b := alignedPages(margins); return &b }}
	pagePool   = sync.Pool{New: func() any { b := alignedPages(pageSize); return &b }}
)

// bypass writes records of one file without the page cache, those that follow one
// another in one transfer.
type bypass struct {
	s        *Store
	d        *dir
	file     *file
	buffered File       // the same file, through the page cache
	direct   DirectFile // opened when the first transfer is due

	at      int64 // of what waits, in the file
	bytes   int64
	bufs    [][]byte
	waiting []passing
	margins *[]byte
	used    int // of margins
}

// passing is a record that waits for its transfer.
type passing struct {
	r     *Record
	bytes []byte
	out   **Record
}

// add takes a record for the next whole page from at on, and returns where it ends. It is
// noted in out when it is written: at the latest by flush.
func (p *bypass) add(r *Record, b []byte, at int64, out **Record) (int64, error) {
	start := pages(at)
	if p.margins == nil {
		p.margins = marginPool.Get().(*[]byte)
	}
	if len(p.waiting) > 0 && (start != p.at+p.bytes || p.bytes+int64(len(b)) > transfer || p.used+2*pageSize > margins) {
		if err := p.flush(); err != nil {
			return 0, err
		}
	}
	if len(p.waiting) == 0 {
		p.at = start
	}
	r.at = start + pageSize - headerSize
	head := p.margin()
	copy(head[pageSize-headerSize:], r.header(crc32.Checksum(b, castagnoli)))
	whole := len(b) &^ (pageSize - 1)
	p.bufs = append(p.bufs, head, b[:whole])
	if whole < len(b) {
		tail := p.margin()
		copy(tail, b[whole:])
		p.bufs = append(p.bufs, tail)
	}
	p.bytes += pageSize + pages(int64(len(b)))
	p.waiting = append(p.waiting, passing{r, b, out})
	return p.at + p.bytes, nil
}

// margin returns a page of zeros.
func (p *bypass) margin() []byte {
	b := (*p.margins)[p.used:][:pageSize:pageSize]
	p.used += pageSize
	clear(b)
	return b
}

// flush writes what waits. Where the file system refuses, the page cache takes it.
func (p *bypass) flush() error {
	if len(p.waiting) == 0 {
		return nil
	}
	err := p.transfer()
	direct := err == nil
	if refused(err) {
		p.d.buffers.Store(true)
		err = nil
	}
	if err != nil {
		return err
	}
	for _, w := range p.waiting {
		if w.r.direct = direct; !direct {
			if err := w.r.write(p.buffered, w.bytes); err != nil {
				return err
			}
		}
		*w.out = p.file.holds(w.r)
	}
	clear(p.waiting)
	clear(p.bufs)
	p.waiting, p.bufs, p.bytes, p.used = p.waiting[:0], p.bufs[:0], 0, 0
	return nil
}

func (p *bypass) transfer() (err error) {
	if p.direct == nil {
		if p.direct, err = p.s.fs.Direct(p.file.path, true); err != nil {
			return err
		}
	}
	_, err = move(p.bufs, p.at, func(bufs [][]byte, at int64) (int, error) {
		n, err := p.direct.Writev(bufs, at)
		if n == 0 && err == nil {
			err = io.ErrShortWrite
		}
		return n, err
	})
	return err
}

func (p *bypass) close() {
	if p.direct != nil {
		_ = p.direct.Close() // what it wrote is written
	}
	if p.margins != nil {
		marginPool.Put(p.margins)
	}
}

// move has all buffers moved, so much at a time, until f moves nothing or fails.
func move(bufs [][]byte, at int64, f func([][]byte, int64) (int, error)) (moved int64, err error) {
	for len(bufs) > 0 {
		var now [][]byte
		room := transfer
		for _, b := range bufs {
			if len(b) > room {
				b = b[:room]
			}
			now = append(now, b)
			if room -= len(b); room == 0 {
				break
			}
		}
		n, err := f(now, at+moved)
		moved += int64(n)
		if err != nil || n == 0 {
			return moved, err
		}
		for n > 0 && n >= len(bufs[0]) {
			n -= len(bufs[0])
			bufs = bufs[1:]
		}
		if n > 0 {
			bufs = append([][]byte{bufs[0][n:]}, bufs[1:]...)
		}
	}
	return moved, nil
}

// readDirect reads from the disk to dst's own memory. Not done: Read is to take the
// page cache.
func (r *Record) readDirect(dst io.WriterAt) (done bool, err error) {
	to, ok := dst.(Pages)
	if !ok {
		return false, nil
	}
	b, ok := to.Pages(r.size)
	if !ok || int64(len(b)) < pages(int64(r.size)) || !aligned(b) {
		return false, nil
	}
	f, err := r.file.s.fs.Direct(r.file.path, false)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return true, fmt.Errorf("open the spilled copy of object %s: %w", r.id, err)
	case err != nil:
		return false, nil // Read finds out whether that is all that fails
	}
	defer f.Close()
	head := pagePool.Get().(*[]byte)
	defer pagePool.Put(head)
	want := pageSize + pages(int64(r.size))
	got, err := move([][]byte{*head, b[:want-pageSize]}, r.at&^(pageSize-1), f.Readv)
	switch {
	case refused(err):
		return false, nil // as it is with the end of a file that was cut
	case err == nil && got < want:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return true, r.failed(err)
	}
	sum, err := r.check((*head)[pageSize-headerSize:])
	if err == nil && crc32.Checksum(b[:r.size], castagnoli) != sum {
		err = fmt.Errorf("%w: checksum of object %s in %s", ErrCorrupt, r.id, r.file.path)
	}
	return true, err
}
