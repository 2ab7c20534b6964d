package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/eagleray/eagleray/core/internal/store"
)

// unpickler is the machine that a pickle is a program for. Lists and dicts are *list and
// *dict until the end, for they are filled after they have been mentioned elsewhere.
type unpickler struct {
	b     []byte
	bufs  [][]byte
	r     *Reader
	stack []any
	marks []int
	memo  []any
	refs  int
	parts int // that may still come
}

// errBadPickle is wrapped when a pickle cannot be read at all.
var errBadPickle = errors.New("malformed pickle")

type (
	list   struct{ items []any }
	dict   struct{ keys, values []any }
	tuple  []any
	global struct{ module, name string }
)

func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.b)) {
		return nil, fmt.Errorf("%w: %d bytes wanted, %d left", errBadPickle, n, len(u.b))
	}
	b := u.b[:n:n]
	u.b = u.b[n:]
	return b, nil
}

func (u *unpickler) byte() (byte, error) {
	b, err := u.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// number reads an unsigned number of so many bytes.
func (u *unpickler) number(size int) (uint64, error) {
	b, err := u.take(uint64(size))
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:]), nil
}

// sized reads what stands behind its length.
func (u *unpickler) sized(size int) ([]byte, error) {
	n, err := u.number(size)
	if err != nil {
		return nil, err
	}
	return u.take(n)
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if n := len(u.stack); n > 0 && (len(u.marks) == 0 || n > u.marks[len(u.marks)-1]) {
		v := u.stack[n-1]
		u.stack = u.stack[:n-1]
		return v, nil
	}
	return nil, fmt.Errorf("%w: nothing on the stack", errBadPickle)
}

// popTo returns what was pushed since the latest mark.
func (u *unpickler) popTo() ([]any, error) {
	if len(u.marks) == 0 {
		return nil, fmt.Errorf("%w: no mark", errBadPickle)
	}
	m := u.marks[len(u.marks)-1]
	u.marks = u.marks[:len(u.marks)-1]
	items := slices.Clone(u.stack[m:])
	u.stack = u.stack[:m]
	return items, nil
}

func (u *unpickler) popN(n int) ([]any, error) {
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		v, err := u.pop()
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return items, nil
}

func notPlain(g global) error {
	return fmt.Errorf("%w: it contains a %s.%s", store.ErrNotPlain, g.module, g.name)
}
