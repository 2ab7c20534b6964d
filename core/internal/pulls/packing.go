package pulls

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
)

// Bounds of what is compressed on its way.
const (
	probeSize = 64 << 10 // of each chunk so much is compressed, and brought back, to see whether it pays
	leastGain = 0.1      // the part of the time that compressing has to save
	growth    = 1.1      // how fast the rate of a connection may seem to grow while chunks are compressed
)

var packBuffers = sync.Pool{New: func() any { b := make([]byte, s2.MaxEncodedLen(piece)); return &b }}

var probes = sync.Pool{New: func() any { return new([probeSize]byte) }}

// packing decides whether the chunks that a connection carries are compressed (s2). The first chunk is not, so the rate of the connection
// is known. Of each later one a probe is compressed, and brought back as the other end would do it. The chunk is compressed if both take less time
// than sending what is saved.
type packing struct {
	rate float64 // bytes that the connection takes in a second; 0: not known
}

// pays reports whether compressing pays, at a speed of both ends together in bytes a second, if a part of the bytes is left.
func (p *packing) pays(speed, left float64) bool {
	return p.rate > 0 && 1/speed+left/p.rate < (1-leastGain)/p.rate
}

// sent notes that the connection has taken a chunk. Few compressed bytes fit into the buffers of the system, and say little of the rate.
func (p *packing) sent(bytes int, took time.Duration, packed bool) {
	rate := float64(bytes) / max(took, time.Microsecond).Seconds()
	switch {
	case packed:
		p.rate = min(rate, p.rate*growth)
	case p.rate == 0:
		p.rate = rate
	default:
		p.rate = (p.rate + rate) / 2
	}
}

// probe compresses the beginning of a chunk, and reports whether compressing the chunk pays.
func (p *packing) probe(buf, b []byte) bool {
	if p.rate == 0 {
		return false
	}
	b = b[:min(probeSize, len(b))]
	begin := time.Now()
	packed := s2.Encode(buf, b)
	left := float64(len(packed)) / float64(len(b))
	if !p.pays(speed(b, begin), left) {
		return false
	}
	back := probes.Get().(*[probeSize]byte)
	defer probes.Put(back)
	if _, err := s2.Decode(back[:len(b)], packed); err != nil {
		return false
	}
	return p.pays(speed(b, begin), left)
}

// speed returns in bytes a second how fast b was worked on.
func speed(b []byte, since time.Time) float64 {
	return float64(len(b)) / max(time.Since(since), time.Microsecond).Seconds()
}

// chunkWriter writes one chunk to a connection, compressed or as it is.
type chunkWriter struct {
	dst     io.Writer
	packing *packing
	buf     []byte // for what is compressed
	n       uint32 // the bytes of the chunk
	begun   bool
	packed  bool
	sum     uint32
	bytes   int           // that the connection has taken
	took    time.Duration // to take them
}

// write writes the next piece of the chunk, and before the first one how the chunk is sent.
func (w *chunkWriter) write(b []byte) error {
	if !w.begun {
		w.begun, w.packed = true, w.packing.probe(w.buf, b)
		says := byte(saysChunk)
		if w.packed {
			says = saysPacked
		}
		if _, err := w.dst.Write(appendHead(nil, says, w.n)); err != nil {
			return err
		}
	}
	w.sum = crc32.Update(w.sum, castagnoli, b)
	if w.packed {
		if packed := s2.Encode(w.buf, b); len(packed) < len(b) {
			b = packed
		}
	}
	begin := time.Now()
	if w.packed {
		if _, err := w.dst.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))); err != nil {
			return err
		}
	}
	_, err := w.dst.Write(b)
	w.took += time.Since(begin)
	w.bytes += len(b)
	return err
}

// send writes a chunk of the object and its checksum to a connection.
func (r room) send(dst io.Writer, p *packing, off uint64, n uint32) error {
	buf := packBuffers.Get().(*[]byte)
	defer packBuffers.Put(buf)
	w := chunkWriter{dst: dst, packing: p, buf: *buf, n: n}
	if err := r.pieces(off, uint64(n), w.write); err != nil {
		return err
	}
	p.sent(w.bytes, w.took, w.packed)
	_, err := dst.Write(binary.LittleEndian.AppendUint32(nil, w.sum))
	return err
}

// receivePacked is receive for a chunk that comes compressed.
func (r room) receivePacked(src io.Reader, off, n uint64) (sum uint32, err error) {
	buf := packBuffers.Get().(*[]byte)
	defer packBuffers.Put(buf)
	return r.fill(off, n, func(b []byte) error {
		var h [4]byte
		if _, err := io.ReadFull(src, h[:]); err != nil {
			return err
		}
		k := binary.LittleEndian.Uint32(h[:])
		switch {
		case int64(k) > int64(len(b)):
			return fmt.Errorf("%w: %d compressed bytes for a piece of %d", errFormat, k, len(b))
		case int(k) == len(b): // it did not shrink
			_, err := io.ReadFull(src, b)
			return err
		}
		packed := (*buf)[:k]
		if _, err := io.ReadFull(src, packed); err != nil {
			return err
		}
		if size, err := s2.DecodedLen(packed); err != nil || size != len(b) {
			return fmt.Errorf("%w: compressed bytes are for %d bytes in place of %d, %v", errFormat, size, len(b), err)
		}
		if _, err := s2.Decode(b, packed); err != nil {
			return fmt.Errorf("%w: %v", errFormat, err)
		}
		return nil
	})
}
