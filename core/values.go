package core

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/client"
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/store"
	"github.com/eagleray/eagleray/core/wire"
)

// NDArray is a numpy array: element type, shape, order and the elements' bytes.
type NDArray = store.NDArray

// RemoteError is an exception that a Python function raised.
type RemoteError struct {
	Function string
	Cause    string // the exception's class and text
	Trace    string // the remote traceback
}

// Error returns the traceback's text.
func (e *RemoteError) Error() string {
	if e.Trace != "" {
		return e.Trace
	}
	return e.Cause
}

// AnyRef is a reference to a value of any type.
type AnyRef interface {
	object() ids.Object
	ID() string
}

// Ref is a counted reference to a value of type T that exists, or will.
type Ref[T any] struct {
	s  *Session
	id ids.Object
}

func newRef[T any](s *Session, id ids.Object) *Ref[T] {
	r := &Ref[T]{s: s, id: id}
	runtime.AddCleanup(r, func(id ids.Object) { s.c.Release(client.Drop{Object: id}) }, id)
	return r
}

func (r *Ref[T]) object() ids.Object { return r.id }

// ID returns the object's id in hex.
func (r *Ref[T]) ID() string { return r.id.String() }

// Put stores a value.
func Put[T any](s *Session, v T) (*Ref[T], error) {
	val, err := encode(v)
	if err != nil {
		return nil, err
	}
	id, err := s.c.Put(val)
	if err != nil {
		return nil, err
	}
	return newRef[T](s, id), nil
}

// encode makes a value of what msgpack knows, or of an NDArray.
func encode(v any) (*client.Value, error) {
	switch x := v.(type) {
	case nil:
		return &client.Value{Fmt: client.FmtNone}, nil
	case []byte:
		return &client.Value{Fmt: client.FmtBytes, Bufs: [][]byte{x}}, nil
	case NDArray:
		meta, err := msgpack.Marshal([]any{x.DType, x.Shape, string(x.Order)})
		return &client.Value{Fmt: client.FmtNDArray, Meta: meta, Bufs: [][]byte{x.Data}}, err
	}
	b, err := msgpack.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", v, err)
	}
	return &client.Value{Fmt: client.FmtMsgpack, Meta: b}, nil
}

// slice is how long a wait goes on before it looks at its context.
const slice = 50 * time.Millisecond

// Get waits for a value. Arrays are views of shared memory: they are valid while the
// reference is reachable. A Python exception is a *RemoteError; other failures carry a code of core/fault.
func Get[T any](ctx context.Context, r *Ref[T]) (v T, err error) {
	for {
		f, err := r.s.c.Get(r.id, slice)
		if err != nil {
			return v, err
		}
		if f == nil {
			if err := ctx.Err(); err != nil {
				return v, fmt.Errorf("get %s: %w", r.id, err)
			}
			continue
		}
		if f.View != 0 { // the object itself stays pinned while it is referenced
			r.s.c.Release(client.Drop{View: f.View})
		}
		v, err = decode[T](f.Envelope)
		runtime.KeepAlive(r)
		return v, err
	}
}

func decode[T any](b []byte) (v T, err error) {
	e, err := store.Parse(b)
	if err != nil {
		return v, err
	}
	switch uint8(e.Format) {
	case client.FmtError:
		return v, remoteError(e.Meta)
	case client.FmtNone:
		return v, nil
	}
	v, err = store.DecodeValue[T](b)
	if errors.Is(err, store.ErrNotPlain) {
		err = fmt.Errorf("%w: the Python value is no plain one (numbers, text, bytes, lists, dicts, arrays); convert it before it is returned", err)
	}
	return v, err
}

// remoteError reads the head of a Python exception: a msgpack array of function, cause
// and traceback in front of the pickled exception, see python/eagleray/_private/task_error.py.
func remoteError(meta []byte) error {
	var head []any
	if wire.Check(meta, wire.MaxValues) == nil && msgpack.Unmarshal(meta, &head) == nil && len(head) >= 3 {
		text := func(i int) string { s, _ := head[i].(string); return s }
		return &RemoteError{Function: text(0), Cause: text(1), Trace: text(2)}
	}
	return &RemoteError{Cause: "the Python function raised an exception"}
}

// Wait returns as soon as n of the references are ready, in the order given;
// earlier when nothing else can become ready.
func Wait(ctx context.Context, s *Session, refs []AnyRef, n int) (ready, rest []AnyRef, err error) {
	list := make([]ids.Object, len(refs))
	for i, r := range refs {
		list[i] = r.object()
	}
	if n < 1 || n > len(refs) {
		return nil, nil, fault.New(fault.BadRequest, "wait for %d of %d references", n, len(refs))
	}
	for {
		ready, rest = nil, nil
		_, done, err := s.c.Wait(list, n, slice, client.WaitHere, func(i int, yes bool) {
			if yes && len(ready) < n {
				ready = append(ready, refs[i])
			} else {
				rest = append(rest, refs[i])
			}
		})
		runtime.KeepAlive(refs)
		if err != nil || done {
			return ready, rest, err
		}
		if err := ctx.Err(); err != nil {
			return ready, rest, err
		}
	}
}

// Cancel ends the task that computes the value: one that waits never runs, one
// that runs is interrupted, or with force its worker is ended.
func (r *Ref[T]) Cancel(force bool) error { return r.s.c.Cancel(r.id, force, true) }
