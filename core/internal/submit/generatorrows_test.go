package submit

import (
	"reflect"
	"unsafe"

	"github.com/eagleray/eagleray/core/internal/generators"
)

// generatorWith returns a generator whose fields are as the pairs of name and value say. Tests
// need generators in the middle of their life, whose fields only their own package may write.
func generatorWith(pairs ...any) *generators.Generator {
	return setGenerator(new(generators.Generator), pairs...)
}

// setGenerator sets fields of a generator, which are given as pairs of name and value.
func setGenerator(g *generators.Generator, pairs ...any) *generators.Generator {
	for i := 0; i < len(pairs); i += 2 {
		f := generatorField(g, pairs[i].(string))
		f.Set(reflect.ValueOf(pairs[i+1]).Convert(f.Type()))
	}
	return g
}

// generatorField returns a field of a generator.
func generatorField(g *generators.Generator, name string) reflect.Value {
	f := reflect.ValueOf(g).Elem().FieldByName(name)
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}
