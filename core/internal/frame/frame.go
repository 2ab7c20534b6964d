package frame

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// headBytes is the length of a frame's length.
const headBytes = 4

// shortArray marks the head of an array of fewer than 16 elements, whose number
// stands in the low bits. Every frame is one, and its op takes one byte.
const shortArray = 0x90

// begin opens a frame with so many elements, the first of which is its kind. End closes it.
func begin(b []byte, op wire.Op, fields int) (out []byte, at int) {
	return append(b, 0, 0, 0, 0, shortArray|byte(fields), byte(op)), len(b)
}

// End closes the frame that a Begin function opened at that offset.
func End(b []byte, at int) []byte { return wire.EndFrame(b, at) }

// AppendCount begins a list of n elements within a frame.
func AppendCount(b []byte, n int) []byte { return wire.AppendArray(b, n) }

// Each hands the complete frames of b, without their lengths, to f in order
// until f returns an error. It returns how many bytes of b the handled frames
// were; the rest is the beginning of a frame whose end has not been read yet.
func Each(b []byte, f func([]byte) error) (used int, err error) {
	for len(b)-used >= headBytes {
		n := int(binary.LittleEndian.Uint32(b[used:]))
		if n > wire.MaxData {
			return used, fmt.Errorf("%w: %d bytes", wire.ErrFrameTooLarge, n)
		}
		if len(b)-used-headBytes < n {
			break
		}
		if err := f(b[used+headBytes : used+headBytes+n]); err != nil {
			return used, err
		}
		used += headBytes + n
	}
	return used, nil
}

// fields is how many elements a frame of each kind has, its kind included.
var fields = [...]struct{ least, most int }{
	wire.OpAssign:    {2, 2},
	wire.OpTemplate:  {12, 12},
	wire.OpTask:      {6, 7},
	wire.OpTaken:     {3, 3},
	wire.OpQuit:      {2, 2},
	wire.OpForget:    {2, 2},
	wire.OpWakeup:    {2, 2},
	wire.OpReply:     {5, 7},
	wire.OpReturned:  {2, 2},
	wire.OpBlocked:   {1, 1},
	wire.OpUnblocked: {1, 1},
	wire.OpItem:      {5, 6},
	wire.OpHold:      {3, 3},
	wire.OpLost:      {3, 3},
}

// Open reads the kind of a frame, and how many elements the frame has. The
// reader is behind the kind.
func Open(b []byte) (r wire.Reader, op wire.Op, n int, err error) {
	if len(b) > 1 && b[0]&0xf0 == shortArray && b[1] < byte(len(fields)) { // as encoders write it
		op, n, r = wire.Op(b[1]), int(b[0]&0x0f), wire.NewReader(b[2:])
	} else {
		r = wire.NewReader(b)
		n = r.Array()
		kind := r.UintTo(uint64(len(fields) - 1))
		if err := r.Err(); err != nil {
			return r, 0, 0, err
		}
		op = wire.Op(kind)
	}
	if f := fields[op]; n < f.least || n > f.most || f.least == 0 {
		return r, 0, 0, fmt.Errorf("%w: op %d has %d fields", wire.ErrBadFrame, op, n)
	}
	return r, op, n, nil
}

// readSeq reads the sequence number of a call.
func readSeq(r *wire.Reader) uint32 { return uint32(r.UintTo(math.MaxUint32)) }

// flag is the number that stands for a bool.
func flag(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
