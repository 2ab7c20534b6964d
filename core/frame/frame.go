package frame

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/eagleray/eagleray/core/wire"
)

// headBytes is the length of a frame's length.
const headBytes = 4

// begin opens a frame with so many elements, the first of which is its kind. End closes it.
func begin(b []byte, op wire.Op, fields int) (out []byte, at int) {
	b, at = wire.BeginFrame(b)
	b = wire.AppendArray(b, fields)
	return wire.AppendUint(b, uint64(op)), at
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
	wire.OpReply:     {5, 5},
	wire.OpReturned:  {2, 2},
	wire.OpBlocked:   {1, 1},
	wire.OpUnblocked: {1, 1},
	wire.OpItem:      {5, 5},
	wire.OpHold:      {3, 3},
	wire.OpLost:      {3, 3},
}

// Head reads the kind of a frame, and how many elements the frame has.
func Head(r *wire.Reader) (op wire.Op, n int, err error) {
	n = r.Array()
	kind := r.Uint()
	if err := r.Err(); err != nil {
		return 0, 0, err
	}
	if kind >= uint64(len(fields)) || fields[kind].least == 0 {
		return 0, 0, fmt.Errorf("%w: op %d does not exist", wire.ErrBadFrame, kind)
	}
	if f := fields[kind]; n < f.least || n > f.most {
		return 0, 0, fmt.Errorf("%w: op %d has %d fields", wire.ErrBadFrame, kind, n)
	}
	return wire.Op(kind), n, nil
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
