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

// The first objects that are spilled go through the page cache, where writing and reading cost
// a copy. When more is spilled, the kernel makes the writer wait, and its work for each page
// costs more than the disk's transfer. So when Options.Cache bytes lie in the page cache, large
// objects go between memory and disk directly, in whole pages:
//
//	… │ page: zeros, header at its end │ pages: the object │ page: the object's tail, zeros │ …
//
// As in other records the header lies right before the bytes; here the bytes begin a page.
const (
	pageSize = 4096
	// bypassFrom is the size from which on an object may bypass the page cache.
	bypassFrom = 64 << 10
	// transfer is how many bytes are moved at a time, if a batch has so many.
	transfer = 8 << 20
	// margins is the memory for the headers and tails of one transfer.
	margins = 512 << 10
)

// Pages is a destination of Record.Read into which the disk can write directly.
type Pages interface {
	// Pages returns writable memory for size bytes, rounded up to whole pages, at a multiple
	// of pageSize. It returns false when there is no such memory.
	Pages(size uint64) ([]byte, bool)
}

func pages(n int64) int64 { return (n + pageSize - 1) &^ (pageSize - 1) }

func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%pageSize == 0 }

// canBypassCache reports whether an object can be written directly.
func canBypassCache(b []byte) bool { return len(b) >= bypassFrom && aligned(b) }

// cacheTakes reports whether the items that have no record in out go through the page cache.
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
	return all <= s.cache() && s.cost.takes(int64(all-before))
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

// directWriter writes records of one file without the page cache. Records that follow one
// another are written by one transfer.
type directWriter struct {
	s        *Store
	d        *dir
	file     *file
	buffered File       // the same file, through the page cache
	direct   DirectFile // opened when the first transfer is due

	at      int64 // where the waiting records begin in the file
	bytes   int64
	bufs    [][]byte
	waiting []directRecord
	margins *[]byte
	used    int // how many bytes of margins are used
}

// directRecord is a record that waits for its transfer; out is where it is noted then.
type directRecord struct {
	r     *Record
	bytes []byte
	out   **Record
}

// add takes a record, which begins at the next whole page from at on, and returns where the
// record ends. The record is noted in out when it is written, which flush does at the latest.
func (p *directWriter) add(r *Record, b []byte, at int64, out **Record) (int64, error) {
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
	r.sumUp(b)
	copy(head[pageSize-headerSize:], r.header(r.sum))
	whole := len(b) &^ (pageSize - 1)
	p.bufs = append(p.bufs, head, b[:whole])
	if whole < len(b) {
		tail := p.margin()
		copy(tail, b[whole:])
		p.bufs = append(p.bufs, tail)
	}
	p.bytes += pageSize + pages(int64(len(b)))
	p.waiting = append(p.waiting, directRecord{r, b, out})
	return p.at + p.bytes, nil
}

// margin returns a page of zeros.
func (p *directWriter) margin() []byte {
	b := (*p.margins)[p.used:][:pageSize:pageSize]
	p.used += pageSize
	clear(b)
	return b
}

// flush writes the waiting records. If the file system refuses, they go through the page cache.
func (p *directWriter) flush() error {
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

func (p *directWriter) transfer() (err error) {
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

func (p *directWriter) close() {
	if p.direct != nil {
		_ = p.direct.Close() // everything is written already, so an error does no harm
	}
	if p.margins != nil {
		marginPool.Put(p.margins)
	}
}

// move moves all buffers by f, at most transfer bytes at a time, until f moves nothing or fails.
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

// readDirect reads from the disk straight into the memory of dst. When done is false, Read has
// to go through the page cache.
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
		return false, nil // Read finds out whether reading fails, too
	}
	defer f.Close()
	head := pagePool.Get().(*[]byte)
	defer pagePool.Put(head)
	want := pageSize + pages(int64(r.size))
	got, err := move([][]byte{*head, b[:want-pageSize]}, r.at&^(pageSize-1), f.Readv)
	switch {
	case refused(err):
		return false, nil // as at the end of a file that was cut
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
