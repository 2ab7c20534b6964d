package resume

const (
	blockSize = 1 << 10
	maxFree   = 1024 // blocks that a session keeps for its queues while it is busy
)

type block [blockSize]byte

// pool has the free blocks of a session.
type pool struct{ free []*block }

func (p *pool) take() *block {
	n := len(p.free)
	if n == 0 {
		return new(block)
	}
	b := p.free[n-1]
	p.free[n-1] = nil
	p.free = p.free[:n-1]
	return b
}

func (p *pool) give(b *block) {
	if len(p.free) < maxFree {
		p.free = append(p.free, b)
	}
}

// byteQueue is a queue of bytes in blocks. An empty queue has no block. The zero value is empty and ready.
type byteQueue struct {
	blocks []*block
	head   int // index of the first block; those before it are nil
	start  int // where the first byte is in the first block
	n      int // how many bytes there are
}

// append adds bytes at the end.
func (q *byteQueue) append(p *pool, b []byte) {
	for len(b) > 0 {
		end := (q.start + q.n) % blockSize
		if q.head+(q.start+q.n)/blockSize == len(q.blocks) {
			q.makeRoom()
			q.blocks = append(q.blocks, p.take())
		}
		k := copy(q.blocks[len(q.blocks)-1][end:], b)
		q.n += k
		b = b[k:]
	}
}

// makeRoom moves the blocks to the beginning of the slice when at least half of the slice is unused there.
func (q *byteQueue) makeRoom() {
	if len(q.blocks) == cap(q.blocks) && q.head > 0 && q.head*2 >= len(q.blocks) {
		k := copy(q.blocks, q.blocks[q.head:])
		clear(q.blocks[k:])
		q.blocks, q.head = q.blocks[:k], 0
	}
}

// span returns at most n of the bytes from the offset at on, as many as lie in one block. There is a byte at this offset.
func (q *byteQueue) span(at, n int) []byte {
	at += q.start
	from := at % blockSize
	return q.blocks[q.head+at/blockSize][from:min(from+n, blockSize)]
}

// appendTo appends n bytes from the offset at on to a slice.
func (q *byteQueue) appendTo(b []byte, at, n int) []byte {
	for n > 0 {
		part := q.span(at, n)
		b = append(b, part...)
		at, n = at+len(part), n-len(part)
	}
	return b
}

// moveTo moves the first n bytes to the end of another queue.
func (q *byteQueue) moveTo(to *byteQueue, p *pool, n int) {
	for n > 0 {
		part := q.span(0, n)
		to.append(p, part)
		q.discard(p, len(part))
		n -= len(part)
	}
}

// discard removes the first n bytes.
func (q *byteQueue) discard(p *pool, n int) {
	q.n -= n
	q.start += n
	for ; q.start >= blockSize; q.start -= blockSize {
		p.give(q.blocks[q.head])
		q.blocks[q.head] = nil
		q.head++
	}
	if q.n > 0 {
		return
	}
	if q.head < len(q.blocks) {
		p.give(q.blocks[q.head])
		q.blocks[q.head] = nil
	}
	q.blocks, q.head, q.start = q.blocks[:0], 0, 0
	if cap(q.blocks) > maxFree {
		q.blocks = nil
	}
}
