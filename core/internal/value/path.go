package value

import (
	"fmt"
	"reflect"

	"github.com/eagleray/eagleray/core/fault"
)

// ErrType is wrapped when a value cannot become the Go type that was asked for.
var ErrType error = fault.NewKind("the value does not fit the Go type", fault.TypeMismatch)

// maxDepth bounds how deeply values are nested; Python's msgpack reads 511.
const maxDepth = 500

// placed is an error with the place in the value that it is about. Places are put
// together while the error goes up.
type placed struct {
	path string
	err  error
}

func (p *placed) Error() string {
	if p.path == "" {
		return p.err.Error()
	}
	return "at " + p.path + ": " + p.err.Error()
}

func (p *placed) Unwrap() error { return p.err }

// longestPath bounds the text of a path, which a cycle would make endless.
const longestPath = 200

// at adds the place of a part to an error about it.
func at(place string, err error) error {
	if err == nil || err == errNeedsPickle {
		return err
	}
	p, ok := err.(*placed)
	if !ok {
		p = &placed{err: err}
	}
	if p.path = place + p.path; len(p.path) > longestPath {
		p.path = p.path[:longestPath-3] + "…"
	}
	return p
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }

func key(k any) string { return fmt.Sprintf("[%.40q]", fmt.Sprint(k)) }

// unsendable returns the error for a Go value that Python cannot be given.
func unsendable(format string, a ...any) error {
	return fault.New(fault.BadRequest, format, a...)
}

// mismatch returns the error for a value that is not what the program asked for.
func mismatch(what string, t reflect.Type) error {
	return fmt.Errorf("%w: %s cannot become a Go %s", ErrType, what, t)
}
