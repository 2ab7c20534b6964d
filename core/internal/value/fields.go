package value

import (
	"reflect"
	"strings"
	"sync"
)

// field is one entry of the dict that a struct is in Python.
type field struct {
	name      string
	index     []int
	omitEmpty bool
}

type structFields struct {
	list []field
	err  error
}

var structs sync.Map // reflect.Type → structFields

// fieldsOf returns the fields of a struct type as they are named in Python: by the tag
// `msgpack:"name"`, else by the tag `json:"name"`, else as in Go. The fields of embedded
// structs without a name of their own are those of the outer one, as in encoding/json.
func fieldsOf(t reflect.Type) ([]field, error) {
	if known, ok := structs.Load(t); ok {
		f := known.(structFields)
		return f.list, f.err
	}
	f := structFields{}
	f.list, f.err = collect(t)
	structs.Store(t, f)
	return f.list, f.err
}

func collect(t reflect.Type) ([]field, error) {
	if t.NumField() == 0 {
		return nil, nil
	}
	type level struct {
		t     reflect.Type
		index []int
	}
	var list []field
	known := map[string]int{} // name → depth
	seen := map[reflect.Type]bool{t: true}
	todo := []level{{t, nil}}
	for depth := 0; len(todo) > 0; depth++ {
		var next []level
		for _, l := range todo {
			for i := range l.t.NumField() {
				sf := l.t.Field(i)
				at := append(append([]int(nil), l.index...), i)
				name, omit, skip := nameOf(sf)
				inner := sf.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				switch {
				case skip:
				case sf.Anonymous && name == "" && inner.Kind() == reflect.Struct && isPlainStruct(inner) && (sf.IsExported() || sf.Type.Kind() != reflect.Pointer):
					if !seen[inner] {
						seen[inner] = true
						next = append(next, level{inner, at})
					}
				case !sf.IsExported():
				default:
					if name == "" {
						name = sf.Name
					}
					if d, twice := known[name]; twice {
						if d == depth {
							return nil, unsendable("two fields of %s are called %q in Python", t, name)
						}
						continue // the outer one counts
					}
					known[name] = depth
					list = append(list, field{name, at, omit})
				}
			}
		}
		todo = next
	}
	if len(list) == 0 {
		return nil, unsendable("a %s has no exported field that could be sent to Python", t)
	}
	return list, nil
}

// isPlainStruct reports whether a struct type is a dict in Python, and has no form of its own.
func isPlainStruct(t reflect.Type) bool {
	return t != arrayType && t != timeType && t != bigType && !t.Implements(marshalText) && !reflect.PointerTo(t).Implements(marshalText)
}

func nameOf(f reflect.StructField) (name string, omitEmpty, skip bool) {
	tag, ok := f.Tag.Lookup("msgpack")
	if !ok {
		tag = f.Tag.Get("json")
	}
	if tag == "-" {
		return "", false, true
	}
	name, options, _ := strings.Cut(tag, ",")
	for o := range strings.SplitSeq(options, ",") {
		omitEmpty = omitEmpty || o == "omitempty" || o == "omitzero"
	}
	return name, omitEmpty, false
}
