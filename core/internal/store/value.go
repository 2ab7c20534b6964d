package store

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// ErrNotPlain is wrapped when a value is Python's own and has no Go form.
var ErrNotPlain error = fault.NewKind("not a plain value", fault.NotPlain)

// DecodePlain reads msgpack that another process wrote as nil, bool, int64 (uint64
// above its range), float64, string, []byte, []any, map[string]any, and
// map[any]any when a key is no string.
func DecodePlain(meta []byte) (any, error) {
	if err := scan(meta); err != nil {
		return nil, err
	}
	v, _, err := decodePlain(meta)
	return v, err
}

// EncodeFault returns the envelope that stands for an error, a FAULT.
func EncodeFault(f *fault.Error) []byte {
	n := 2
	if f.Task != "" {
		n = 3
	}
	meta := wire.AppendArray(nil, n)
	meta = wire.AppendStr(meta, string(f.Code))
	meta = wire.AppendStr(meta, f.Message)
	if n == 3 {
		meta = wire.AppendStr(meta, f.Task)
	}
	total, _ := Layout(len(meta), nil, nil)
	return AppendEnvelope(make([]byte, 0, total), FormatFault, meta)
}

// DecodeFault returns the error that the metadata of a FAULT holds.
func DecodeFault(meta []byte) error {
	v, err := DecodePlain(meta)
	if err != nil {
		return fmt.Errorf("a fault's body: %w", err)
	}
	if found, _ := v.([]any); len(found) >= 2 {
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
