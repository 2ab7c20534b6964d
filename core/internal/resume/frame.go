package resume

import (
	"encoding/binary"
	"fmt"
)

// Kind says what a frame means.
type Kind byte

const (
	kindAck   Kind = iota + 1 // number: the last numbered frame that the sender has; the only kind that is not numbered itself
	kindOpen                  // body: the target of a new stream
	kindData                  // body: bytes of a stream
	kindGrant                 // body: uint32, how many more bytes of a stream the sender of this frame takes
	kindEnd                   // body: one byte, the Reason
)

// Sizes of a frame.
const (
	headerSize = 4 + 1 + 8 + 8 // length of what follows, kind, number, stream
	MaxBody    = 64 << 10
	MaxFrame   = headerSize + MaxBody
	MaxTarget  = 1 << 10 // of what a stream is opened with
)

// Frame is a message between two sessions. On a connection a frame is a uint32 with the
// length of the rest, a byte with the kind, the number and the stream as uint64, and the
// body, all little-endian.
type Frame struct {
	Kind   Kind
	Number uint64
	Stream StreamID
	Body   []byte
}

// ParseFrame reads the frame at the beginning of b, and returns what follows it. The frame's
// body lies in b. If b ends within the frame, ok is false and rest is b. No more than
// MaxFrame bytes are ever needed. The error wraps ErrFrame.
func ParseFrame(b []byte) (f Frame, rest []byte, ok bool, err error) {
	if len(b) < 4 {
		return Frame{}, b, false, nil
	}
	n := binary.LittleEndian.Uint32(b)
	if n < headerSize-4 || n > MaxFrame-4 {
		return Frame{}, b, false, fmt.Errorf("%w: its length is %d, allowed are %d to %d", ErrFrame, n, headerSize-4, MaxFrame-4)
	}
	size := 4 + int(n)
	if len(b) < size {
		return Frame{}, b, false, nil
	}
	f = Frame{Kind: Kind(b[4]), Number: binary.LittleEndian.Uint64(b[5:]), Stream: StreamID(binary.LittleEndian.Uint64(b[13:])), Body: b[headerSize:size:size]}
	if err := f.check(); err != nil {
		return Frame{}, b, false, err
	}
	return f, b[size:], true, nil
}

// check returns an error when the body does not fit the kind. Only what every receiver can know is checked here.
func (f Frame) check() error {
	least, most := 0, 0
	switch f.Kind {
	case kindAck:
	case kindOpen:
		most = MaxTarget
	case kindData:
		least, most = 1, MaxBody
	case kindGrant:
		least, most = 4, 4
	case kindEnd:
		least, most = 1, 1
	default:
		return fmt.Errorf("%w: kind %d is not known", ErrFrame, f.Kind)
	}
	if len(f.Body) < least || len(f.Body) > most {
		return fmt.Errorf("%w: the body of kind %d has %d bytes, allowed are %d to %d", ErrFrame, f.Kind, len(f.Body), least, most)
	}
	return nil
}

// header returns the bytes in front of a body of n bytes.
func header(kind Kind, number uint64, id StreamID, n int) (h [headerSize]byte) {
	binary.LittleEndian.PutUint32(h[:], uint32(headerSize-4+n))
	h[4] = byte(kind)
	binary.LittleEndian.PutUint64(h[5:], number)
	binary.LittleEndian.PutUint64(h[13:], uint64(id))
	return h
}
