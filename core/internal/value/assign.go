package value

import (
	"encoding"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"time"

	"github.com/eagleray/eagleray/core/internal/store"
)

var unmarshalText = reflect.TypeFor[encoding.TextUnmarshaler]()

// assign sets dst to a value of the tree. Its error says where in the value it is about.
func (r *Reader) assign(dst reflect.Value, v any, depth int) error {
	if depth > 2*maxDepth {
		return fmt.Errorf("%w: it is nested deeper than %d", ErrType, 2*maxDepth)
	}
	if ref, ok := v.(Ref); ok {
		if r.Assign == nil || !r.Assign(dst, ref) {
			return mismatch("a reference (ObjectRef)", dst.Type())
		}
		return nil
	}
	if h, ok := v.(Handle); ok {
		return r.assignActor(dst, h)
	}
	t := dst.Type()
	switch {
	case dst.Kind() == reflect.Interface:
		return r.assignInterface(dst, v, depth)
	case v == nil:
		if dst.Kind() != reflect.Pointer {
			return mismatch("None", t)
		}
		dst.SetZero()
		return nil
	case t == bigType:
		n := asBig(v)
		if n == nil {
			return mismatch(describe(v), t)
		}
		dst.Set(reflect.ValueOf(*n))
		return nil
	case t == arrayType, t == timeType:
		if reflect.TypeOf(v) != t {
			return mismatch(describe(v), t)
		}
		dst.Set(reflect.ValueOf(v))
		return nil
	}
	if dst.Kind() == reflect.Pointer {
		p := reflect.New(t.Elem())
		if err := r.assign(p.Elem(), v, depth+1); err != nil {
			return err
		}
		dst.Set(p)
		return nil
	}
	if text, ok := v.(string); ok && dst.CanAddr() && reflect.PointerTo(t).Implements(unmarshalText) {
		if err := dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%w: %w", mismatch(describe(v), t), err)
		}
		return nil
	}
	switch x := v.(type) {
	case bool:
		if dst.Kind() == reflect.Bool {
			dst.SetBool(x)
			return nil
		}
	case string:
		if dst.Kind() == reflect.String {
			dst.SetString(x)
			return nil
		}
	case time.Duration:
		if t == durationType {
			dst.SetInt(int64(x))
			return nil
		}
	case int64, uint64, *big.Int, float64, complex128:
		if assignNumber(dst, v) {
			return nil
		}
		if isNumber(dst.Kind()) {
			return fmt.Errorf("%w: %v does not fit", mismatch(describe(v), t), v)
		}
	case []byte:
		return assignBytes(dst, x)
	case []any:
		return r.assignList(dst, x, depth)
	case map[string]any, map[any]any:
		return r.assignDict(dst, v, depth)
	}
	return mismatch(describe(v), t)
}

func (r *Reader) assignActor(dst reflect.Value, h Handle) error {
	if r.AssignActor != nil {
		if ok, err := r.AssignActor(dst, h); ok || err != nil {
			return err
		}
	}
	return mismatch("an actor's handle", dst.Type())
}

func (r *Reader) assignInterface(dst reflect.Value, v any, depth int) error {
	if v == nil {
		dst.SetZero()
		return nil
	}
	if err := r.refsInside(&v, depth); err != nil {
		return err
	}
	if !reflect.TypeOf(v).AssignableTo(dst.Type()) {
		return mismatch(describe(v), dst.Type())
	}
	dst.Set(reflect.ValueOf(v))
	return nil
}

// refsInside puts what Assign makes of references into lists and dicts of the tree that the program gets as they are.
func (r *Reader) refsInside(v *any, depth int) error {
	if depth > 2*maxDepth {
		return fmt.Errorf("%w: it is nested deeper than %d", ErrType, 2*maxDepth)
	}
	switch x := (*v).(type) {
	case Ref, Handle:
		return r.assign(reflect.ValueOf(v).Elem(), x, depth)
	case []any:
		for i := range x {
			if err := r.refsInside(&x[i], depth+1); err != nil {
				return at(index(i), err)
			}
		}
	case map[string]any:
		for k, e := range x {
			if err := r.refsInside(&e, depth+1); err != nil {
				return at(key(k), err)
			}
			x[k] = e
		}
	case map[any]any:
		for k, e := range x {
			if err := r.refsInside(&e, depth+1); err != nil {
				return at(key(k), err)
			}
			x[k] = e
		}
	}
	return nil
}

func isNumber(k reflect.Kind) bool {
	return k >= reflect.Int && k <= reflect.Complex128 && k != reflect.Uintptr
}

// assignNumber sets dst to a number, if nothing of it is lost but the precision that a float32 lacks.
func assignNumber(dst reflect.Value, v any) bool {
	switch k := dst.Kind(); {
	case k >= reflect.Int && k <= reflect.Int64:
		n, ok := v.(int64)
		if !ok || dst.OverflowInt(n) {
			return false
		}
		dst.SetInt(n)
	case k >= reflect.Uint && k <= reflect.Uint64:
		n, ok := v.(uint64)
		if s, signed := v.(int64); signed && s >= 0 {
			n, ok = uint64(s), true
		}
		if !ok || dst.OverflowUint(n) {
			return false
		}
		dst.SetUint(n)
	case k == reflect.Float32, k == reflect.Float64:
		f, ok := asFloat(v, k)
		if !ok || dst.OverflowFloat(f) {
			return false
		}
		dst.SetFloat(f)
	case k == reflect.Complex64, k == reflect.Complex128:
		c, ok := v.(complex128)
		if !ok {
			f, real := asFloat(v, reflect.Float64)
			c, ok = complex(f, 0), real
		}
		if !ok || dst.OverflowComplex(c) {
			return false
		}
		dst.SetComplex(c)
	default:
		return false
	}
	return true
}

// asFloat returns a number as a float. An integer must be one that the float can hold exactly.
func asFloat(v any, k reflect.Kind) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	n := asBig(v)
	if n == nil {
		return 0, false
	}
	f, accuracy := new(big.Float).SetInt(n).Float64()
	if k == reflect.Float32 {
		return f, accuracy == big.Exact && float64(float32(f)) == f
	}
	return f, accuracy == big.Exact && !math.IsInf(f, 0)
}

func asBig(v any) *big.Int {
	switch n := v.(type) {
	case int64:
		return big.NewInt(n)
	case uint64:
		return new(big.Int).SetUint64(n)
	case *big.Int:
		return n
	}
	return nil
}

func assignBytes(dst reflect.Value, b []byte) error {
	t := dst.Type()
	switch {
	case dst.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		dst.SetBytes(b)
	case dst.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		if len(b) != dst.Len() {
			return fmt.Errorf("%w: they are %d", mismatch("bytes", t), len(b))
		}
		reflect.Copy(dst, reflect.ValueOf(b))
	default:
		return mismatch("bytes", t)
	}
	return nil
}

func (r *Reader) assignList(dst reflect.Value, list []any, depth int) error {
	switch dst.Kind() {
	case reflect.Slice:
		dst.Set(reflect.MakeSlice(dst.Type(), len(list), len(list)))
	case reflect.Array:
		if dst.Len() != len(list) {
			return fmt.Errorf("%w: the list has %d items", mismatch("a list", dst.Type()), len(list))
		}
	default:
		return mismatch("a list or tuple", dst.Type())
	}
	for i, x := range list {
		if err := r.assign(dst.Index(i), x, depth+1); err != nil {
			return at(index(i), err)
		}
	}
	return nil
}

func (r *Reader) assignDict(dst reflect.Value, v any, depth int) error {
	t := dst.Type()
	switch dst.Kind() {
	case reflect.Map:
		m := reflect.MakeMap(t)
		err := eachEntry(v, func(k, x any) error {
			name, part := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			if err := r.assign(name, k, depth+1); err != nil {
				return err
			}
			if err := r.assign(part, x, depth+1); err != nil {
				return err
			}
			m.SetMapIndex(name, part)
			return nil
		})
		if err != nil {
			return err
		}
		dst.Set(m)
		return nil
	case reflect.Struct:
		fields, err := fieldsOf(t)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrType, err)
		}
		return eachEntry(v, func(k, x any) error {
			for _, f := range fields {
				if f.name == k {
					return r.assign(reachable(dst, f.index), x, depth+1)
				}
			}
			return nil // a key that the struct does not want
		})
	}
	return mismatch("a dict", t)
}

func eachEntry(v any, f func(k, x any) error) error {
	if m, ok := v.(map[string]any); ok {
		for k, x := range m {
			if err := f(k, x); err != nil {
				return at(key(k), err)
			}
		}
		return nil
	}
	for k, x := range v.(map[any]any) {
		if err := f(k, x); err != nil {
			return at(key(k), err)
		}
	}
	return nil
}

// reachable returns a field, and makes the embedded structs on the way that are pointers.
func reachable(v reflect.Value, index []int) reflect.Value {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v
}

// describe names a value of the tree as a Python programmer would.
func describe(v any) string {
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, uint64, *big.Int:
		return "an int"
	case float64:
		return "a float"
	case complex128:
		return "a complex number"
	case string:
		return "a str"
	case []byte:
		return "bytes"
	case []any:
		return "a list or tuple"
	case map[string]any, map[any]any:
		return "a dict"
	case store.NDArray:
		return fmt.Sprintf("a numpy array of dtype %s and shape %v", x.DType, x.Shape)
	case time.Time:
		return "a datetime"
	case time.Duration:
		return "a timedelta"
	}
	return fmt.Sprintf("a %T", v)
}
