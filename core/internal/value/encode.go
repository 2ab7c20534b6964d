package value

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/store"
)

// Encoded is a value on its way to Python.
type Encoded struct {
	Format store.Format
	Meta   []byte
	Bufs   [][]byte
	// Refs are the references inside, in the order in which the pickle takes them. When there are
	// any, the format is one with a table of them, which the caller puts in front of Meta.
	Refs []ids.Object
	// Held are the tokens of the actors inside, which the value keeps alive.
	Held []ids.Object
}

// Encode returns a value in the form that travels. It shares the memory of arrays and of bytes.
func Encode(v any, refs References) (Encoded, error) {
	switch x := v.(type) {
	case nil:
		return Encoded{Format: store.FormatNone}, nil
	case []byte:
		return Encoded{Format: store.FormatBytes, Bufs: [][]byte{x}}, nil
	case store.NDArray:
		meta, data, err := x.Envelope()
		if err != nil {
			return Encoded{}, unsendable("encode an array: %v", err)
		}
		return Encoded{Format: store.FormatNDArray, Meta: meta, Bufs: [][]byte{data}}, nil
	}
	e, err := encode(func(w *walker) error { return w.value(reflect.ValueOf(v), 0) }, refs, store.FormatMsgpack, store.FormatPickle, store.FormatPickleRefs)
	if err != nil {
		return e, fmt.Errorf("encode a %T: %w", v, err)
	}
	return e, nil
}

// Args returns the arguments of a call in the form that travels. Slots are the indexes and
// names of those that are references by themselves: Python is given their values. They are
// nil in positional and named.
func Args(positional []any, named map[string]any, slots []any, refs References) (Encoded, error) {
	walk := func(w *walker) error {
		w.s.tuple()
		if err := w.arguments(positional, named); err != nil {
			return err
		}
		if _, plain := w.s.(*packed); plain || len(slots) > 0 {
			if err := w.value(reflect.ValueOf(slots), 0); err != nil {
				return err
			}
		}
		w.s.endTuple()
		return nil
	}
	e, err := encode(walk, refs, store.FormatArgsMsgpack, store.FormatArgs, store.FormatArgsRefs)
	if err != nil {
		return e, fmt.Errorf("encode the arguments: %w", err)
	}
	return e, nil
}

func (w *walker) arguments(positional []any, named map[string]any) error {
	w.s.list(len(positional))
	for i, a := range positional {
		if err := w.any(a); err != nil {
			return at(fmt.Sprintf("argument %d", i), err)
		}
	}
	w.s.endList()
	w.s.dict(len(named))
	for name, a := range named {
		if err := w.text(name); err != nil {
			return at("the name of an argument", err)
		}
		if err := w.any(a); err != nil {
			return at("argument "+name, err)
		}
	}
	w.s.endDict()
	return nil
}

func (w *walker) any(v any) error { return w.value(reflect.ValueOf(v), 1) }

// encode tries msgpack, which is smaller and quicker for Python to read, and then pickle.
func encode(walk func(*walker) error, refs References, plain, pickle, withRefs store.Format) (Encoded, error) {
	m := &packed{}
	w := &walker{s: m, refs: refs}
	err := walk(w)
	if err == nil {
		return Encoded{Format: plain, Meta: m.b}, nil
	}
	if !errors.Is(err, errNeedsPickle) {
		return Encoded{}, err
	}
	p := newPickled()
	w = &walker{s: p, refs: refs}
	if err := walk(w); err != nil {
		return Encoded{}, err
	}
	e := Encoded{Format: pickle, Meta: append(p.b, opStop), Bufs: p.bufs, Refs: p.refs, Held: p.held}
	if len(e.Refs) > 0 {
		e.Format = withRefs
	}
	return e, nil
}
