package value

import (
	"fmt"
	"reflect"

	"github.com/eagleray/eagleray/core/internal/store"
)

// Decode reads an envelope as a T. For T any the types are nil, bool, int64 (uint64 and
// *big.Int above and below its range), float64, complex128, string, []byte, []any,
// map[string]any (map[any]any when a key is no string), NDArray, time.Time, time.Duration
// and what Assign makes of references. Only arrays share the envelope's memory.
func Decode[T any](envelope []byte, r Reader) (v T, err error) {
	e, err := store.Parse(envelope)
	if err != nil {
		return v, err
	}
	found, err := r.tree(e)
	if err != nil {
		return v, err
	}
	if err := r.assign(reflect.ValueOf(&v).Elem(), found, 0); err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// tree returns the value in an envelope as few Go types.
func (r *Reader) tree(e store.Envelope) (any, error) {
	switch e.Format {
	case store.FormatNone:
		return nil, nil
	case store.FormatMsgpack:
		return store.DecodePlain(e.Meta)
	case store.FormatFault:
		return nil, store.DecodeFault(e.Meta)
	case store.FormatBytes:
		if len(e.Bufs) != 1 {
			return nil, fmt.Errorf("%w: %s with %d buffers", store.ErrBadEnvelope, e.Format, len(e.Bufs))
		}
		return append([]byte{}, e.Bufs[0]...), nil
	case store.FormatNDArray:
		a, err := store.ParseNDArray(e)
		if err != nil {
			return nil, err
		}
		return r.kept(a), nil
	case store.FormatPickle:
		return unpickle(e.Meta, e.Bufs, r)
	case store.FormatPickleRefs:
		if r.Table == nil {
			break
		}
		rest, err := r.Table(e.Meta)
		if err != nil {
			return nil, err
		}
		return unpickle(rest, e.Bufs, r)
	}
	return nil, fmt.Errorf("%w: it travels as %s", store.ErrNotPlain, e.Format)
}

// Values returns a copy of an array's elements in C order, whatever the array's order and byte order are.
// Booleans are read as uint8.
func Values[T store.Element](a store.NDArray) ([]T, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	size, swap := store.ItemSize(a.DType), 0
	if a.DType[0] == '>' {
		if swap = size; a.DType[1] == 'c' {
			swap = size / 2
		}
	}
	var out []byte
	_ = store.UseBytes(a, func(data []byte) error {
		out = copied(data, a.Shape, a.Order, max(size, 1), swap)
		return nil
	})
	dtype := a.DType
	if dtype[0] == '>' || dtype[0] == '=' {
		dtype = "<" + dtype[1:]
	}
	own, err := store.RawNDArray(dtype, a.Shape, 'C', out)
	if err != nil {
		return nil, err
	}
	var values []T
	err = store.Use(own, func(v []T) error {
		values = v // memory of Go's, which a slice keeps
		return nil
	})
	return values, err
}
