package wire

import "encoding/binary"

// maxNesting is how deep the values of a control message may lie in each other.
// The decoder calls itself for each level: without a bound, a message of
// opening brackets alone would overflow the stack of whoever reads it.
const maxNesting = 64

// nestsTooDeep reports whether the first msgpack value of b is nested deeper
// than maxNesting. What is malformed otherwise is left to the decoder.
func nestsTooDeep(b []byte) bool {
	var left [maxNesting + 1]uint64 // values still to come at each level
	left[0] = 1
	for depth := 0; ; {
		for left[depth] == 0 {
			if depth == 0 {
				return false
			}
			depth--
		}
		left[depth]--
		size, children, ok := head(b)
		if !ok || size > uint64(len(b)) {
			return false
		}
		b = b[size:]
		if children > 0 {
			if depth++; depth > maxNesting {
				return true
			}
			left[depth] = children
		}
	}
}

// head returns how many bytes the value at the start of b has, without those of the
// values in it, and how many values are in it.
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
