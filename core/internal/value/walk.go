package value

import (
	"encoding"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/eagleray/eagleray/core/internal/store"
)

// walker writes a Go value to a sink.
type walker struct {
	s    sink
	refs References
}

// value writes one value and what is inside. Its error says where it is about.
func (w *walker) value(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return unsendable("it is nested deeper than %d: does it contain itself?", maxDepth)
	}
	if !v.IsValid() {
		w.s.none()
		return nil
	}
	t := v.Type()
	if done, err := w.special(v, t); done {
		return err
	}
	switch v.Kind() {
	case reflect.Bool:
		w.s.boolean(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.s.integer(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.s.unsigned(v.Uint())
	case reflect.Float32, reflect.Float64:
		w.s.float(v.Float())
	case reflect.Complex64, reflect.Complex128:
		return w.s.complex(v.Complex())
	case reflect.String:
		return w.text(v.String())
	case reflect.Slice, reflect.Array:
		return w.list(v, depth)
	case reflect.Map:
		return w.dict(v, depth)
	case reflect.Struct:
		return w.structure(v, depth)
	case reflect.Pointer, reflect.Interface:
		return w.value(v.Elem(), depth+1)
	default:
		return unsendable("a %s cannot be sent to Python", t)
	}
	return nil
}

// special writes what has a form of its own whatever its kind is, and reports whether v was such a value.
func (w *walker) special(v reflect.Value, t reflect.Type) (done bool, err error) {
	switch t {
	case arrayType:
		return true, w.s.array(v.Interface().(store.NDArray))
	case timeType:
		return true, w.s.time(v.Interface().(time.Time))
	case durationType:
		return true, w.s.duration(time.Duration(v.Int()))
	case bigType:
		n := v.Interface().(big.Int)
		return true, w.bigInt(&n)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			w.s.none()
			return true, nil
		}
		if t.Elem().PkgPath() == w.refs.Package && w.refs.Object != nil {
			if w.refs.Actor != nil {
				if h := w.refs.Actor(v.Interface()); h != nil {
					return true, w.s.actor(h)
				}
			}
			id, err := w.refs.Object(v.Interface())
			if err != nil {
				return true, err
			}
			return true, w.s.ref(id)
		}
		switch t.Elem() {
		case arrayType, timeType, durationType, bigType:
			return false, nil // written by what it points to
		}
	case reflect.Interface:
		return false, nil
	case reflect.Struct:
		if t.PkgPath() == w.refs.Package && w.refs.Object != nil {
			return true, unsendable("a %s cannot be sent to Python by value; references are passed as pointers", t)
		}
	}
	return w.marshaler(v, t)
}

// marshaler writes a value that has a text of its own, such as a network address.
func (w *walker) marshaler(v reflect.Value, t reflect.Type) (done bool, err error) {
	if !t.Implements(marshalText) {
		if v.Kind() == reflect.Pointer || t.Name() == "" || !reflect.PointerTo(t).Implements(marshalText) {
			return false, nil
		}
		p := reflect.New(t)
		p.Elem().Set(v)
		v = p
	}
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return true, unsendable("the text of a %s: %v", t, err)
	}
	return true, w.text(string(text))
}

func (w *walker) bigInt(n *big.Int) error {
	switch {
	case n.IsInt64():
		w.s.integer(n.Int64())
	case n.IsUint64():
		w.s.unsigned(n.Uint64())
	default:
		return w.s.big(n)
	}
	return nil
}

func (w *walker) text(s string) error {
	if !utf8.ValidString(s) {
		return unsendable("the text %.40q is not UTF-8, which Python's str needs; send it as []byte", s)
	}
	return w.s.text(s)
}

func (w *walker) list(v reflect.Value, depth int) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Kind() == reflect.Array && !v.CanAddr() {
			c := reflect.New(v.Type()).Elem()
			c.Set(v)
			v = c
		}
		return w.s.bytes(v.Bytes())
	}
	w.s.list(v.Len())
	for i := range v.Len() {
		if err := w.value(v.Index(i), depth+1); err != nil {
			return at(index(i), err)
		}
	}
	w.s.endList()
	return nil
}

func (w *walker) dict(v reflect.Value, depth int) error {
	keys := v.MapKeys()
	if v.Type().Key().Kind() == reflect.String {
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	}
	seen := map[any]bool{}
	w.s.dict(len(keys))
	for _, k := range keys {
		if err := w.key(k, seen); err != nil {
			return at(key(k), err)
		}
		if err := w.value(v.MapIndex(k), depth+1); err != nil {
			return at(key(k), err)
		}
	}
	w.s.endDict()
	return nil
}

// key writes a map's key. Seen has those of the map so far: keys of different Go types may be equal in Python.
func (w *walker) key(k reflect.Value, seen map[any]bool) error {
	mixed := k.Kind() == reflect.Interface
	for k.Kind() == reflect.Interface && !k.IsNil() {
		k = k.Elem()
	}
	var same any
	switch k.Kind() {
	case reflect.String:
		same = k.String()
	case reflect.Bool:
		same = 0.0
		if k.Bool() {
			same = 1.0
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		same = float64(k.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		same = float64(k.Uint())
	case reflect.Float32, reflect.Float64:
		same = k.Float()
	case reflect.Interface: // nil
	default:
		if !k.Type().Implements(marshalText) {
			return unsendable("a %s cannot be a key of a Python dict that Go sends; strings, numbers, booleans and nil can", k.Type())
		}
	}
	if mixed {
		if seen[same] {
			return unsendable("the map has another key that is equal to it in Python")
		}
		seen[same] = true
	}
	return w.value(k, 0)
}

func (w *walker) structure(v reflect.Value, depth int) error {
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return err
	}
	values := make([]reflect.Value, len(fields))
	n := 0
	for i, f := range fields {
		x, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitEmpty && isEmpty(x) { // an embedded pointer is nil
			continue
		}
		values[i] = x
		n++
	}
	w.s.dict(n)
	for i, f := range fields {
		if !values[i].IsValid() {
			continue
		}
		if err := w.text(f.name); err != nil {
			return at("."+f.name, err)
		}
		if err := w.value(values[i], depth+1); err != nil {
			return at("."+f.name, err)
		}
	}
	w.s.endDict()
	return nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
