package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
)

// ErrNotPlain is wrapped when a value is Python's own and has no Go form.
var ErrNotPlain = errors.New("not a plain value")

// EncodeValue returns a value's envelope: []byte as BYTES, NDArray as NDARRAY,
// nil as NONE, anything else as msgpack, which Python reads as None, bool, int,
// float, str, bytes, list and dict (structs become dicts).
func EncodeValue[T any](v T) ([]byte, error) {
	switch v := any(v).(type) {
	case nil:
		return AppendEnvelope(nil, FormatNone, nil), nil
	case []byte:
		return AppendEnvelope(nil, FormatBytes, nil, v), nil
	case NDArray:
		return v.appendEnvelope(nil)
	}
	meta, err := EncodePlain(v)
	if err != nil {
		return nil, err
	}
	return AppendEnvelope(nil, FormatMsgpack, meta), nil
}

// EncodePlain returns a value as msgpack with the shortest integers.
func EncodePlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a %T: %w", v, err)
	}
	return b.Bytes(), nil
}

// DecodeValue reads an envelope as a T; see DecodeEnvelope.
func DecodeValue[T any](envelope []byte) (T, error) {
	e, err := Parse(envelope)
	if err != nil {
		var zero T
		return zero, err
	}
	return DecodeEnvelope[T](e)
}

// DecodeEnvelope reads a value as a T. A FAULT is returned as a *fault.Error. For
// T any the types are nil, bool, int64 (uint64 above its range), float64, string,
// []byte, []any, map[string]any (map[any]any when a key is no string) and
// NDArray. NDArray, and []byte from BYTES, are views of the envelope.
func DecodeEnvelope[T any](e Envelope) (v T, err error) {
	switch e.Format {
	case FormatNone:
		return v, nil
	case FormatMsgpack:
		return decodeMsgpack[T](e.Meta)
	case FormatFault:
		return v, decodeFault(e.Meta)
	case FormatBytes:
		if len(e.Bufs) != 1 {
			return v, fmt.Errorf("%w: %s with %d buffers", ErrBadEnvelope, e.Format, len(e.Bufs))
		}
		return as[T](e.Bufs[0], e.Format)
	case FormatNDArray:
		a, err := ParseNDArray(e)
		if err != nil {
			return v, err
		}
		return as[T](a, e.Format)
	}
	return v, fmt.Errorf("%w: Python serialised it as %s", ErrNotPlain, e.Format)
}

// as returns value as a T, which must be its type or an interface.
func as[T any](value any, f Format) (T, error) {
	v, ok := value.(T)
	if !ok {
		return v, fmt.Errorf("value is %s, which is a %T and no %T", f, value, v)
	}
	return v, nil
}

func decodeMsgpack[T any](meta []byte) (v T, err error) {
	if err := scan(meta); err != nil {
		return v, err
	}
	switch any(&v).(type) {
	case *any, *[]any, *map[string]any, *map[any]any:
		found, _, err := decodePlain(meta)
		if err != nil || found == nil {
			return v, err
		}
		if named, ok := found.(map[string]any); ok {
			if mixed, ok := any(&v).(*map[any]any); ok {
				*mixed = widen(named)
				return v, nil
			}
		}
		return as[T](found, FormatMsgpack)
	}
	// Maps and slices with keys that cannot be hashed make the library panic.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode a %T: %w: %v", v, ErrBadMsgpack, p)
		}
	}()
	dec := msgpack.NewDecoder(bytes.NewReader(meta))
	dec.SetMapDecoder(func(d *msgpack.Decoder) (any, error) {
		raw, err := d.DecodeRaw()
		if err != nil {
			return nil, err
		}
		found, _, err := decodePlain(raw)
		return found, err
	})
	if err := dec.Decode(&v); err != nil {
		return v, fmt.Errorf("decode a %T: %w", v, err)
	}
	return v, nil
}

func widen(m map[string]any) map[any]any {
	w := make(map[any]any, len(m))
	for k, v := range m {
		w[k] = v
	}
	return w
}

// decodeFault returns the error that a FAULT holds.
func decodeFault(meta []byte) error {
	found, err := decodeMsgpack[[]any](meta)
	if err != nil {
		return fmt.Errorf("a fault's body: %w", err)
	}
	if len(found) >= 2 {
		code, ok1 := found[0].(string)
		message, ok2 := found[1].(string)
		if ok1 && ok2 {
			f := &fault.Error{Code: fault.Code(code), Message: message}
			if len(found) > 2 {
				f.Task, _ = found[2].(string)
			}
			return f
		}
	}
	return fmt.Errorf("%w: a fault without code and message", ErrBadEnvelope)
}
