package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// framer cuts a stream into frames. It keeps the bytes that it has read and not handed out,
// so that another process can go on where this one stopped (Peer.Detach).
type framer struct {
	r   io.Reader
	buf []byte
	at  int // where the next frame begins in buf
	end int // where the bytes that were read end in buf

	full bool // a read has filled the buffer, so there was more to read
}

// Sizes of a framer's buffer, in bytes. A daemon has a buffer for each of hundreds of
// processes. Most of them send little, so a buffer grows only when much is sent.
const (
	framerFirst = 2 << 10
	framerSize  = 16 << 10
	framerKeep  = 64 << 10 // a larger buffer is given back after its frame
)

// next returns the next frame's payload, valid until the next call.
func (f *framer) next(limit int) ([]byte, error) {
	if f.at == f.end {
		f.at, f.end = 0, 0
		if len(f.buf) > framerKeep {
			f.buf = nil
		} else if n := f.size(0); n > len(f.buf) {
			f.buf = make([]byte, n)
		}
	}
	if err := f.fill(4); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(f.buf[f.at:]))
	if n > int64(limit) {
		return nil, fmt.Errorf("%w: %d bytes, cap %d", ErrFrameTooLarge, n, limit)
	}
	if err := f.fill(4 + int(n)); err != nil {
		return nil, err
	}
	b := f.buf[f.at+4 : f.at+4+int(n)]
	f.at += 4 + int(n)
	return b, nil
}

// fill reads until n bytes of the frame are there.
func (f *framer) fill(n int) error {
	for f.end-f.at < n {
		if len(f.buf)-f.at < n || f.buf == nil {
			b := f.buf
			if size := f.size(n); size > len(b) {
				b = make([]byte, size)
			}
			f.end = copy(b, f.buf[f.at:f.end])
			f.at, f.buf = 0, b
		}
		got, err := f.r.Read(f.buf[f.end:])
		f.end += got
		f.full = f.full || f.end == len(f.buf)
		if f.end-f.at >= n {
			return nil
		}
		if err == io.EOF && f.end > f.at {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// size is how large the buffer should be for n bytes of a frame.
func (f *framer) size(n int) int {
	size := len(f.buf)
	if f.full && size < framerSize {
		size = min(2*size, framerSize)
	}
	f.full = false
	if n > size {
		// The other end claims this length: the buffer grows only as the bytes come.
		size = max(framerFirst, min(n, 2*(f.end-f.at)+framerSize))
	}
	return size
}

// drop gives the buffer back, with the bytes in it. Nothing is read after that.
func (f *framer) drop() { f.buf, f.at, f.end = nil, 0, 0 }

// rest returns what was read beyond the frames that were handed out.
func (f *framer) rest() []byte { return f.buf[f.at:f.end] }
