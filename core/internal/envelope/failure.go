package envelope

import (
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// PointTo returns the value that stands for an exception in the store.
func PointTo(p *frame.Pointer) Value {
	return Value{Fmt: uint8(store.FormatElsewhere), Meta: frame.AppendPointer(nil, p)}
}

// PointerIn reads the envelope of such a value; nil for any other envelope.
func PointerIn(envelope []byte) (*frame.Pointer, error) {
	if !Is(envelope, store.FormatElsewhere) {
		return nil, nil
	}
	e, err := store.Parse(envelope)
	if err != nil {
		return nil, err
	}
	p, err := frame.ReadPointer(e.Meta)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// Is reports whether an envelope has a format, as far as its third byte says. The
// rest of the envelope may be malformed.
func Is(envelope []byte, f store.Format) bool {
	return len(envelope) > 2 && store.Format(envelope[2]) == f // behind the head of the array and the version
}

// Brief returns the envelope of an exception's short form.
func Brief(meta []byte) []byte {
	v := Value{Fmt: uint8(store.FormatError), Meta: meta}
	return v.Envelope(v.Size())
}

// FaultIn returns the fault that an envelope holds, with its code and its message; nil when it holds something else.
func FaultIn(envelope []byte) *fault.Error {
	e, err := store.Parse(envelope)
	var head []string
	if err != nil || e.Format != store.FormatFault || msgpack.Unmarshal(e.Meta, &head) != nil || len(head) < 2 {
		return nil
	}
	return fault.New(fault.Code(head[0]), "%s", head[1])
}

// Unstored returns what a task fails with when one of its results cannot be written to
// the store. When that result is an exception, the message has the text of it.
func Unstored(v *Value, err error) *fault.Error {
	f := fault.From(err)
	if store.Format(v.Fmt) != store.FormatError {
		return f
	}
	r := wire.NewReader(v.Meta) // see python/eagleray/_private/task_error.py
	r.Array()
	name, what, trace := r.Str(), r.Str(), r.Str()
	if r.Err() != nil {
		return f
	}
	return fault.New(f.Code, "%s raised an exception of %d bytes, which could not be written to the object store. %s\n%s\n%s", name, len(v.Meta), f.Message, what, trace)
}
