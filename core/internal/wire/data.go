package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Op is the first element of a frame on a task socket.
type Op uint8

// Frames from the caller to the worker.
const (
	OpAssign   Op = 1  // [op, assignment]
	OpTemplate Op = 2  // [op, template, kind, fid, name, method, returns, max calls, once, blob or nil, flow, concurrency group]; flow: [] or [mode, items per yield, limit, 1: tell what was taken]
	OpTask     Op = 3  // [op, seq, template, first return's count, place of the arguments, [place of each reference…]]; of a generator also [items that came, items taken, 1: close it, items to come again…]; of another task that runs again for lost results [which of its results the caller has…]
	OpTaken    Op = 4  // [op, seq, n]: the program has taken n of a generator's items
	OpQuit     Op = 5  // [op, seq]: nobody wants more items of the generator: close it
	OpForget   Op = 20 // [op, template]: the template is not used any more
	OpWakeup   Op = 21 // [op, µs]: what it costs on this machine to wake two processes, as the caller has measured
)

// Frames from the worker to the caller.
const (
	OpReply     Op = 10 // [op, seq, flags, exec µs, [result…]]; before the results stand, with ReplyLastItem, the index, and then, with ReplyHeld, the answer's number
	OpReturned  Op = 11 // [op, [seq…]]: these calls were not started; send them elsewhere
	OpBlocked   Op = 12 // [op]: the running task waits; send nothing more
	OpUnblocked Op = 13 // [op]
	OpItem      Op = 14 // [op, seq, index, flags, result]: what a generator yielded; with ReplyHeld the answer's number stands before the result
	OpHold      Op = 22 // [op, concurrency group, 1: send it no more calls for now; 0: go on]
	OpLost      Op = 19 // [op, seq, [which…]]: not started, because what the call takes is lost: 0 its arguments, i its i-th reference
)

// Flags of a reply.
const (
	ReplyAppError     = 1 << iota // the results are one exception
	ReplyExiting                  // the worker exits after this reply
	ReplyCancelled                // the task was cancelled
	ReplyNoRetry                  // the exception is none on which the task is retried
	ReplyLastItem                 // a generator raised: the results are the exception, which is the item with that index, and the generator's own one
	ReplyUnregistered             // references that the task keeps may not be registered yet: see TRegistered
	ReplyHeld                     // the worker holds what the answer refers to, under a number of its own, until Received repeats that
)

// Places of a value. In a task: [0, envelope] or [1, object id, size, owner's
// socket]. In a reply the object is the call's own: [0, envelope, contained]
// or [1, size, contained], contained being [[object id, owner's address]…]; or
// [2, 0, []] for a result that the caller has.
const (
	PlaceInline = 0
	PlaceStore  = 1
	PlaceHad    = 2
)

// AppendArray, AppendUint, AppendBin, AppendStr and AppendNil append msgpack
// values; they are what the task sockets need of the format.
func AppendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return append(b, 0xdc, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
}

// AppendUint appends an unsigned integer in its shortest form.
func AppendUint(b []byte, v uint64) []byte {
	switch {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, 0xcc, byte(v))
	case v <= math.MaxUint16:
		return append(b, 0xcd, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), v)
}

// AppendBinHeader appends the head of a byte string of n bytes.
func AppendBinHeader(b []byte, n int) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(b, 0xc4, byte(n))
	case n <= math.MaxUint16:
		return append(b, 0xc5, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
}

// AppendBin appends a byte string.
func AppendBin(b, v []byte) []byte { return append(AppendBinHeader(b, len(v)), v...) }

// AppendStr appends a text.
func AppendStr(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = append(b, 0xda, byte(n>>8), byte(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

// AppendNil appends nil.
func AppendNil(b []byte) []byte { return append(b, 0xc0) }

// BeginFrame leaves room for the length; EndFrame fills it in.
func BeginFrame(b []byte) ([]byte, int) { return append(b, 0, 0, 0, 0), len(b) }

// EndFrame closes the frame that BeginFrame opened at start.
func EndFrame(b []byte, start int) []byte {
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// Reader reads msgpack values off a frame. After the first malformed value it
// returns zeros and Err tells.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads b, which it does not copy: byte strings are views of it.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: want %s", ErrBadFrame, what)
	}
	r.b = nil
}

func (r *Reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.fail("more bytes")
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *Reader) tag() byte {
	if len(r.b) == 0 {
		r.fail("a value")
		return 0xc1
	}
	t := r.b[0]
	r.b = r.b[1:]
	return t
}

func (r *Reader) be(n int) uint64 {
	v := uint64(0)
	for _, c := range r.take(n) {
		v = v<<8 | uint64(c)
	}
	return v
}

// Uint reads an unsigned integer.
func (r *Reader) Uint() uint64 {
	switch t := r.tag(); {
	case t < 128:
		return uint64(t)
	case t >= 0xcc && t <= 0xcf:
		return r.be(1 << (t - 0xcc))
	}
	r.fail("an unsigned integer")
	return 0
}

// UintTo reads an unsigned integer of at most most.
func (r *Reader) UintTo(most uint64) uint64 {
	v := r.Uint()
	if v > most {
		r.fail("a smaller integer")
		return 0
	}
	return v
}

// Fields reads the head of an array that has exactly n elements.
func (r *Reader) Fields(n int) {
	if r.Array() != n {
		r.fail("another number of fields")
	}
}

// Array reads the length of an array; each element has at least one byte, so
// a longer one than the frame is malformed.
func (r *Reader) Array() int {
	var n uint64
	switch t := r.tag(); {
	case t&0xf0 == 0x90:
		n = uint64(t & 15)
	case t == 0xdc:
		n = r.be(2)
	case t == 0xdd:
		n = r.be(4)
	default:
		r.fail("an array")
	}
	if n > uint64(len(r.b)) {
		r.fail("as many elements as the array says")
		return 0
	}
	return int(n)
}

// Bin reads a byte string, or nil.
func (r *Reader) Bin() []byte {
	switch t := r.tag(); t {
	case 0xc0:
		return nil
	case 0xc4, 0xc5, 0xc6:
		return r.take(int(r.be(1 << (t - 0xc4))))
	}
	r.fail("a byte string")
	return nil
}

// Str reads a text.
func (r *Reader) Str() string {
	switch t := r.tag(); {
	case t&0xe0 == 0xa0:
		return string(r.take(int(t & 31)))
	case t >= 0xd9 && t <= 0xdb:
		return string(r.take(int(r.be(1 << (t - 0xd9)))))
	}
	r.fail("a text")
	return ""
}
