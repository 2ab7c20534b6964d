package wire

import (
	"encoding/binary"
	"fmt"
	"io"
)

// framer cuts a stream into frames. What it has read and not handed out stays
// at hand: another process may go on where this one stopped.
type framer struct {
	r   io.Reader
	buf []byte
	at  int // where the next frame begins in buf
	end int // what was read ends here
}

// Sizes of a framer's buffer, in bytes.
const (
	framerSize = 16 << 10
	framerKeep = 1 << 20 // a larger one is given back after its frame
)

// next returns the next frame's payload, valid until the next call.
func (f *framer) next(limit int) ([]byte, error) {
	if f.at == f.end {
		f.at, f.end = 0, 0
		if len(f.buf) > framerKeep {
			f.buf = nil
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
			if n > len(b) {
				// A frame's length is a stranger's word: room is made as it comes.
				b = make([]byte, max(framerSize, min(n, 2*(f.end-f.at)+framerSize)))
			}
			f.end = copy(b, f.buf[f.at:f.end])
			f.at, f.buf = 0, b
		}
		got, err := f.r.Read(f.buf[f.end:])
		f.end += got
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

// rest returns what was read beyond the frames that were handed out.
func (f *framer) rest() []byte { return f.buf[f.at:f.end] }
