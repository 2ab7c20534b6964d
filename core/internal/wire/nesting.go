package wire

import (
	"encoding/binary"
	"fmt"
)

// maxNesting is how deeply the values of a control message may be nested. The decoder calls
// itself for each level: without a bound, a message that only opens arrays would overflow the
// stack of its reader.
const maxNesting = 64

// MaxValues is how many values an array or map in a control message may have.
const MaxValues = 1 << 20

// Check refuses bytes whose first value cannot be decoded safely: a value that is nested too
// deeply, or an array or map that claims more values than most, or than there are bytes. (The
// decoder makes room for an array before it reads the values.)
func Check(b []byte, most uint64) error {
	deep, wide := survey(b, most)
	switch {
	case deep:
		return fmt.Errorf("%w: nested deeper than %d levels", ErrBadFrame, maxNesting)
	case wide:
		return fmt.Errorf("%w: an array or map of more values than there are bytes, or than %d", ErrBadFrame, most)
	}
	return nil
}

// survey reports whether the first msgpack value of b is nested deeper than maxNesting
// (deep), and whether an array or map in it claims more values than it can have, or than most
// (wide). Other malformed bytes are left to the decoder.
func survey(b []byte, most uint64) (deep, wide bool) {
	var left [maxNesting + 1]uint64 // values still to come at each level
	left[0] = 1
	for depth := 0; ; {
		for left[depth] == 0 {
			if depth == 0 {
				return false, false
			}
			depth--
		}
		left[depth]--
		size, children, ok := head(b)
		if !ok || size > uint64(len(b)) {
			return false, false
		}
		b = b[size:]
		if children > uint64(len(b)) || children > most {
			return false, true
		}
		if children > 0 {
			if depth++; depth > maxNesting {
				return true, false
			}
			left[depth] = children
		}
	}
}

// head returns how many bytes the value at the start of b has without the values inside it,
// and how many values are inside it.
func head(b []byte) (size, children uint64, ok bool) {
	if len(b) == 0 {
		return 0, 0, false
	}
	number := func(bytes int) uint64 {
		if len(b) < 1+bytes {
			ok = false
			return 0
		}
		var v [8]byte
		copy(v[8-bytes:], b[1:1+bytes])
		return binary.BigEndian.Uint64(v[:])
	}
	ok = true
	switch t := b[0]; {
	case t < 0x80 || t >= 0xe0 || t == 0xc0 || t == 0xc2 || t == 0xc3: // integer, nil, bool
		return 1, 0, true
	case t < 0x90: // map
		return 1, 2 * uint64(t&15), true
	case t < 0xa0: // array
		return 1, uint64(t & 15), true
	case t < 0xc0: // text
		return 1 + uint64(t&31), 0, true
	case t >= 0xc4 && t <= 0xc6: // bytes
		n := 1 << (t - 0xc4)
		return 1 + uint64(n) + number(n), 0, ok
	case t >= 0xc7 && t <= 0xc9: // extension
		n := 1 << (t - 0xc7)
		return 2 + uint64(n) + number(n), 0, ok
	case t == 0xca || t == 0xcb: // float
		return 1 + 4<<(t-0xca), 0, true
	case t >= 0xcc && t <= 0xd3: // integer
		return 1 + 1<<(t&3), 0, true
	case t >= 0xd4 && t <= 0xd8: // extension
		return 2 + 1<<(t-0xd4), 0, true
	case t >= 0xd9 && t <= 0xdb: // text
		n := 1 << (t - 0xd9)
		return 1 + uint64(n) + number(n), 0, ok
	case t == 0xdc || t == 0xdd: // array
		n := 2 << (t - 0xdc)
		return 1 + uint64(n), number(n), ok
	case t == 0xde || t == 0xdf: // map
		n := 2 << (t - 0xde)
		return 1 + uint64(n), 2 * number(n), ok
	}
	return 0, 0, false
}
