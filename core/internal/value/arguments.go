package value

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/eagleray/eagleray/core/internal/store"
)

// Arguments are what a call takes, before anybody has said of which Go types. Those that came as references have the values of these.
type Arguments struct {
	positional []argumentAt
	named      map[string]argumentAt
}

// argumentAt is one argument with the reader of the envelope that it came in.
type argumentAt struct {
	r    *Reader
	tree any
}

// Input is an envelope and how its parts become Go values.
type Input struct {
	Envelope []byte
	Reader   Reader
}

// ReadArguments reads the arguments of a call, which Args or a Python program has packed. Deps are the values of those that came as references.
func ReadArguments(in Input, deps []Input) (*Arguments, error) {
	e, err := store.Parse(in.Envelope)
	if err != nil {
		return nil, err
	}
	var tree any
	r := &in.Reader
	switch e.Format {
	case store.FormatNone:
		tree = []any{[]any{}, map[string]any{}}
	case store.FormatArgsMsgpack:
		tree, err = store.DecodePlain(e.Meta)
	case store.FormatArgs:
		tree, err = unpickle(e.Meta, e.Bufs, r)
	case store.FormatArgsRefs:
		if r.Table == nil {
			return nil, fmt.Errorf("%w: arguments with references, which nobody reads here", store.ErrBadEnvelope)
		}
		var meta []byte
		if meta, err = r.Table(e.Meta); err == nil {
			tree, err = unpickle(meta, e.Bufs, r)
		}
	default:
		return nil, fmt.Errorf("%w: arguments travel as %s", store.ErrBadEnvelope, e.Format)
	}
	if err != nil {
		return nil, inArgument(err)
	}
	return split(tree, r, deps)
}

// inArgument names the argument that an error is about, if the error is about a positional one.
func inArgument(err error) error {
	p, ok := err.(*placed)
	if !ok {
		return err
	}
	if rest, found := strings.CutPrefix(p.path, "[0]["); found {
		number, rest, _ := strings.Cut(rest, "]")
		return &placed{path: "argument " + number + rest, err: p.err}
	}
	return err
}

var errBadArguments = fmt.Errorf("%w: arguments are a list, a dict, and the places of references", store.ErrBadEnvelope)

// split takes what was packed apart: the list, the dict, and the places of references, which may be left out when there are none.
func split(tree any, r *Reader, deps []Input) (*Arguments, error) {
	parts, _ := tree.([]any)
	if len(parts) != 2 && len(parts) != 3 {
		return nil, errBadArguments
	}
	list, ok := parts[0].([]any)
	if !ok {
		return nil, errBadArguments
	}
	a := &Arguments{positional: make([]argumentAt, len(list)), named: map[string]argumentAt{}}
	for i, v := range list {
		a.positional[i] = argumentAt{r, v}
	}
	switch named := parts[1].(type) {
	case map[string]any:
		for name, v := range named {
			a.named[name] = argumentAt{r, v}
		}
	case map[any]any: // an empty one, or with keys that no call has
		if len(named) > 0 {
			return nil, errBadArguments
		}
	default:
		return nil, errBadArguments
	}
	var slots []any
	if len(parts) == 3 {
		slots, _ = parts[2].([]any)
	}
	if len(slots) != len(deps) {
		return nil, fmt.Errorf("%w: %d places for %d references", store.ErrBadEnvelope, len(slots), len(deps))
	}
	for i, slot := range slots {
		v, err := inputTree(&deps[i])
		if err != nil {
			return nil, at(fmt.Sprintf("argument %v", slot), err)
		}
		switch k := slot.(type) {
		case int64:
			if k < 0 || k >= int64(len(a.positional)) {
				return nil, errBadArguments
			}
			a.positional[k] = v
		case string:
			a.named[k] = v
		default:
			return nil, errBadArguments
		}
	}
	return a, nil
}

func inputTree(in *Input) (argumentAt, error) {
	e, err := store.Parse(in.Envelope)
	if err != nil {
		return argumentAt{}, err
	}
	tree, err := in.Reader.tree(e)
	return argumentAt{&in.Reader, tree}, err
}

// Len returns the number of positional arguments.
func (a *Arguments) Len() int { return len(a.positional) }

// Named returns the names of the keyword arguments.
func (a *Arguments) Named() []string {
	var names []string
	for name := range a.named {
		names = append(names, name)
	}
	return names
}

// Assign sets dst, which can be set, to the positional argument i.
func (a *Arguments) Assign(i int, dst reflect.Value) error {
	x := a.positional[i]
	return x.r.assign(dst, x.tree, 0)
}
