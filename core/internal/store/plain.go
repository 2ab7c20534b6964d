package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrBadMsgpack is wrapped when a value's msgpack cannot be read.
var ErrBadMsgpack = errors.New("malformed msgpack")

// maxDepth bounds the nesting of a plain value; Python's msgpack packs 511.
const maxDepth = 1024

// token is one msgpack item: a scalar, or the head of a container.
type token struct {
	kind tokenKind
	n    uint64 // integer bits, float bits, or a container's number of items
	data []byte // of a string or of bytes
}

type tokenKind uint8

const (
	kindNil tokenKind = iota
	kindFalse
	kindTrue
	kindUint
	kindInt // negative
	kindFloat32
	kindFloat64
	kindString
	kindBytes
	kindArray
	kindMap // n counts keys and values
	kindExt
)

// readToken reads one item off the front of b. Every length is checked against
// what is left, a container's too: each of its items has at least one byte.
func readToken(b []byte) (t token, rest []byte, err error) {
	if len(b) == 0 {
		return t, nil, fmt.Errorf("%w: cut off", ErrBadMsgpack)
	}
	c := b[0]
	rest = b[1:]
	switch {
	case c < 0x80:
		return token{kind: kindUint, n: uint64(c)}, rest, nil
	case c >= 0xe0:
		return token{kind: kindInt, n: uint64(int64(int8(c)))}, rest, nil
	case c < 0x90:
		return sized(kindMap, uint64(c&15)*2, rest)
	case c < 0xa0:
		return sized(kindArray, uint64(c&15), rest)
	case c < 0xc0:
		return sized(kindString, uint64(c&31), rest)
	}
	f := forms[c-0xc0]
	if f.width > len(rest) {
		return t, nil, fmt.Errorf("%w: cut off", ErrBadMsgpack)
	}
	n := uint64(0)
	for _, d := range rest[:f.width] {
		n = n<<8 | uint64(d)
	}
	rest = rest[f.width:]
	switch f.kind {
	case kindInt:
		shift := 64 - 8*f.width
		n = uint64(int64(n<<shift) >> shift)
		if int64(n) >= 0 {
			f.kind = kindUint
		}
	case kindMap:
		n *= 2
	case kindExt:
		if c >= 0xd4 { // fixed sizes: 1, 2, 4, 8, 16
			n = 1 << (c - 0xd4)
		}
		n++ // the type's byte
	case kindNil:
		if c != 0xc0 {
			return t, nil, fmt.Errorf("%w: byte 0x%x", ErrBadMsgpack, c)
		}
	}
	return sized(f.kind, n, rest)
}

// forms are the items of the bytes from 0xc0 to 0xdf: what they are and how many
// bytes of value or length follow.
var forms = [32]struct {
	kind  tokenKind
	width int
}{
	{kindNil, 0}, {kindNil, 0}, {kindFalse, 0}, {kindTrue, 0},
	{kindBytes, 1}, {kindBytes, 2}, {kindBytes, 4},
	{kindExt, 1}, {kindExt, 2}, {kindExt, 4},
	{kindFloat32, 4}, {kindFloat64, 8},
	{kindUint, 1}, {kindUint, 2}, {kindUint, 4}, {kindUint, 8},
	{kindInt, 1}, {kindInt, 2}, {kindInt, 4}, {kindInt, 8},
	{kindExt, 0}, {kindExt, 0}, {kindExt, 0}, {kindExt, 0}, {kindExt, 0},
	{kindString, 1}, {kindString, 2}, {kindString, 4},
	{kindArray, 2}, {kindArray, 4},
	{kindMap, 2}, {kindMap, 4},
}

// sized finishes a token whose length or number is n.
func sized(kind tokenKind, n uint64, rest []byte) (token, []byte, error) {
	t := token{kind: kind, n: n}
	switch kind {
	case kindString, kindBytes, kindExt, kindArray, kindMap:
		if n > uint64(len(rest)) {
			return t, nil, fmt.Errorf("%w: a length of %d with %d bytes left", ErrBadMsgpack, n, len(rest))
		}
	}
	switch kind {
	case kindString, kindBytes, kindExt:
		t.data, rest = rest[:n:n], rest[n:]
	}
	return t, rest, nil
}

// scan checks that b is exactly one value, so that a decoder that trusts lengths
// or recurses can be given it.
func scan(b []byte) error {
	var left [maxDepth]uint64 // items to come, by depth
	depth := 0
	left[0] = 1
	for {
		for left[depth] == 0 {
			if depth == 0 {
				if len(b) > 0 {
					return fmt.Errorf("%w: %d bytes after the value", ErrBadMsgpack, len(b))
				}
				return nil
			}
			depth--
		}
		left[depth]--
		t, rest, err := readToken(b)
		if err != nil {
			return err
		}
		b = rest
		if t.kind == kindArray || t.kind == kindMap {
			if depth++; depth == maxDepth {
				return fmt.Errorf("%w: nested deeper than %d", ErrBadMsgpack, maxDepth)
			}
			left[depth] = t.n
		}
	}
}

// decodePlain reads one value off the front of b, which scan accepted: nil,
// bool, int64 (uint64 above its range), float64, string, []byte, []any,
// map[string]any, or map[any]any when a key is no string.
func decodePlain(b []byte) (v any, rest []byte, err error) {
	t, b, err := readToken(b)
	if err != nil {
		return nil, nil, err
	}
	switch t.kind {
	case kindNil:
		return nil, b, nil
	case kindFalse, kindTrue:
		return t.kind == kindTrue, b, nil
	case kindUint:
		if t.n > math.MaxInt64 {
			return t.n, b, nil
		}
		return int64(t.n), b, nil
	case kindInt:
		return int64(t.n), b, nil
	case kindFloat32:
		return float64(math.Float32frombits(uint32(t.n))), b, nil
	case kindFloat64:
		return math.Float64frombits(t.n), b, nil
	case kindString:
		return string(t.data), b, nil
	case kindBytes:
		return append([]byte{}, t.data...), b, nil
	case kindArray:
		items := make([]any, t.n)
		for i := range items {
			if items[i], b, err = decodePlain(b); err != nil {
				return nil, nil, err
			}
		}
		return items, b, nil
	case kindMap:
		return decodeMap(t.n/2, b)
	}
	return nil, nil, fmt.Errorf("%w: extension type %d", ErrNotPlain, int8(t.data[0]))
}

func decodeMap(n uint64, b []byte) (v any, rest []byte, err error) {
	named := make(map[string]any, n)
	var mixed map[any]any // from the first key on that is no string
	for range n {
		var key, value any
		if key, b, err = decodePlain(b); err != nil {
			return nil, nil, err
		}
		if value, b, err = decodePlain(b); err != nil {
			return nil, nil, err
		}
		name, isString := key.(string)
		switch key.(type) {
		case []byte, []any, map[string]any, map[any]any:
			return nil, nil, fmt.Errorf("%w: a map's key is of type %T", ErrNotPlain, key)
		}
		if !isString && mixed == nil {
			mixed = make(map[any]any, n)
			for k, v := range named {
				mixed[k] = v
			}
		}
		if mixed != nil {
			mixed[key] = value
		} else {
			named[name] = value
		}
	}
	if mixed != nil {
		return mixed, b, nil
	}
	return named, b, nil
}

// appendUint appends n in its shortest form.
func appendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<7:
		return append(dst, byte(n))
	case n < 1<<8:
		return append(dst, 0xcc, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), n)
}

// appendArray appends the head of an array of n items.
func appendArray(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, 0x90|byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xdc), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdd), uint32(n))
}

// appendBin appends the head of n bytes.
func appendBin(dst []byte, n int) []byte {
	switch {
	case n < 1<<8:
		return append(dst, 0xc4, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xc5), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xc6), uint32(n))
}
