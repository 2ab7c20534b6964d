package link

import "sync"

// smallRing is the size of the buffer that a stream keeps while it is empty. A stream with more unread bytes has a
// buffer as large as its window, and gives it back when it is empty.
const smallRing = 2 << 10

// ring is a queue of bytes in a circle. The zero value is empty and has no buffer.
type ring struct {
	buf  []byte
	head int // of the first byte
	n    int
}

// put appends bytes. The ring never has more than window bytes, which the session sees to.
func (r *ring) put(b []byte, window int, spare *sync.Pool) {
	if r.n+len(b) > len(r.buf) {
		r.grow(r.n+len(b), window, spare)
	}
	tail := (r.head + r.n) % len(r.buf)
	k := copy(r.buf[tail:], b)
	copy(r.buf, b[k:])
	r.n += len(b)
}

// grow takes a larger buffer.
func (r *ring) grow(n, window int, spare *sync.Pool) {
	var buf []byte
	switch kept, _ := spare.Get().(*[]byte); {
	case n <= smallRing:
		buf = make([]byte, smallRing)
		if kept != nil {
			spare.Put(kept)
		}
	case kept != nil:
		buf = *kept
	default:
		buf = make([]byte, window)
	}
	k := copy(buf, r.buf[r.head:min(r.head+r.n, len(r.buf))])
	copy(buf[k:], r.buf[:r.n-k])
	r.buf, r.head = buf, 0
}

// take moves the first bytes into b, all of which it fills.
func (r *ring) take(b []byte, spare *sync.Pool) {
	k := copy(b, r.buf[r.head:min(r.head+len(b), len(r.buf))])
	copy(b[k:], r.buf)
	r.n -= len(b)
	r.head = (r.head + len(b)) % len(r.buf)
	if r.n == 0 {
		r.empty(spare)
	}
}

// empty throws away what is there, and gives a large buffer back.
func (r *ring) empty(spare *sync.Pool) {
	if len(r.buf) > smallRing {
		buf := r.buf
		spare.Put(&buf)
		r.buf = nil
	}
	r.head, r.n = 0, 0
}
