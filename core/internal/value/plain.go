package value

import (
	"fmt"
	"math/big"
	"time"

	"github.com/eagleray/eagleray/core/internal/store"
)

// plain returns what the machine has made as few Go types.
func (u *unpickler) plain(v any, depth int) (any, error) {
	if u.parts--; u.parts < 0 {
		return nil, fmt.Errorf("%w: it repeats its parts too often", store.ErrNotPlain)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: it is nested deeper than %d, or contains itself", store.ErrNotPlain, maxDepth)
	}
	switch x := v.(type) {
	case nil, bool, int64, uint64, *big.Int, float64, complex128, string, []byte, time.Time, time.Duration, Ref, Handle:
		return v, nil
	case store.NDArray:
		return u.r.kept(x), nil
	case *list:
		return u.plainList(x.items, depth)
	case tuple:
		return u.plainList(x, depth)
	case *dict:
		return u.plainDict(x, depth)
	case global:
		return nil, notPlain(x)
	case zone:
		return nil, notPlain(global{datetimeModule, "timezone"})
	}
	return nil, fmt.Errorf("%w: a part of another value (%T)", store.ErrNotPlain, v)
}

func (u *unpickler) plainList(items []any, depth int) (any, error) {
	out := make([]any, len(items))
	for i, x := range items {
		y, err := u.plain(x, depth+1)
		if err != nil {
			return nil, at(index(i), err)
		}
		out[i] = y
	}
	return out, nil
}

func (u *unpickler) plainDict(d *dict, depth int) (any, error) {
	named := make(map[string]any, len(d.keys))
	mixed := make(map[any]any)
	for i, k := range d.keys {
		x, err := u.plain(d.values[i], depth+1)
		if err != nil {
			return nil, at(key(k), err)
		}
		switch k := k.(type) {
		case string:
			named[k] = x
		case nil, bool, int64, uint64, float64:
			mixed[k] = x
		default:
			return nil, fmt.Errorf("%w: a dict's key is %s", store.ErrNotPlain, describe(k))
		}
	}
	if len(mixed) == 0 {
		return named, nil
	}
	for k, x := range named {
		mixed[k] = x
	}
	return mixed, nil
}
