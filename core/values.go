package core

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/value"
)

// Put stores a value. The value may be changed when Put has returned without an error.
func Put[T any](ctx context.Context, s *Session, v T) (*Ref[T], error) {
	if err := begin(ctx, "put"); err != nil {
		return nil, err
	}
	e, err := value.Encode(v, s.references())
	if err != nil {
		return nil, err
	}
	val, err := s.valueOf(e)
	if err != nil {
		return nil, err
	}
	put := func() (ids.Object, error) { return s.c.Put(&val) }
	var id ids.Object
	if mayWait(e) {
		id, err = inTime(ctx, "put", put, s.release)
	} else {
		id, err = put()
	}
	runtime.KeepAlive(v) // the references inside
	if err != nil {
		return nil, err
	}
	return newRef[T](s, id), nil
}

// mayWait reports whether a value is so large that it goes to the store, which may have no room.
func mayWait(e value.Encoded) bool {
	lens := make([]int, len(e.Bufs))
	for i, b := range e.Bufs {
		lens[i] = len(b)
	}
	total, _ := store.Layout(len(e.Meta), lens, nil)
	return total > client.MaxInline/2
}

// valueOf puts the table of references in front of a value.
func (s *Session) valueOf(e value.Encoded) (client.Value, error) {
	v := client.Value{Fmt: uint8(e.Format), Meta: e.Meta, Bufs: e.Bufs, Nested: e.Held}
	if len(e.Refs) == 0 {
		return v, nil
	}
	list := make([]*ids.Object, len(e.Refs))
	for i := range e.Refs {
		list[i] = &e.Refs[i]
	}
	table, err := s.c.RefTable(list)
	if err != nil {
		return v, err
	}
	v.Meta, v.Nested = append(table, e.Meta...), append(slices.Clip(e.Refs), e.Held...)
	return v, nil
}

func (s *Session) release(id ids.Object) { s.c.Release(client.Drop{Object: id}) }

// Get waits for a value. Python's None becomes nil where T is a pointer or an interface and is an
// error elsewhere, as is any number that T cannot hold. An exception of the Python function is a
// *RemoteError.
//
// Everything that Get returns is the program's own, but for large arrays: an NDArray is a read-only
// view of shared memory, which it keeps, also after the Ref is gone and after the session was closed.
func Get[T any](ctx context.Context, r *Ref[T]) (v T, err error) {
	h, err := handleOf(r)
	if err != nil {
		return v, err
	}
	f, err := h.s.c.GetContext(ctx, h.id)
	if err != nil {
		return v, fmt.Errorf("get %s: %w", h.id, err)
	}
	var keep *pin
	if f.View != 0 {
		keep = newPin(h.s, f.View)
	}
	envelope, err := h.s.c.Follow(f.Envelope)
	if err == nil {
		v, err = decode[T](envelope, h.s.reader(keep))
	}
	runtime.KeepAlive(keep)
	runtime.KeepAlive(h)
	if err != nil {
		var zero T
		return zero, fmt.Errorf("get %s: %w", h.id, err)
	}
	return v, nil
}

// GetAll waits for the values of all references, and returns them in order. It returns the first error that it meets.
func GetAll[T any](ctx context.Context, refs []*Ref[T]) ([]T, error) {
	values := make([]T, len(refs))
	for i, r := range refs {
		v, err := Get(ctx, r)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func decode[T any](b []byte, r value.Reader) (v T, err error) {
	if e, err := store.Parse(b); err != nil {
		return v, err
	} else if uint8(e.Format) == client.FmtError {
		return v, remoteError(e.Meta)
	}
	v, err = value.Decode[T](b, r)
	if errors.Is(err, store.ErrNotPlain) {
		err = fmt.Errorf("%w; numbers, text, bytes, lists, tuples, dicts, dates, numpy arrays and references have a Go form: convert it before it is returned", err)
	}
	return v, err
}

// Wait returns ready references, in the order given, as soon as n of them are ready. It returns
// earlier when nothing else can become ready. R is *Ref of some type, or AnyRef for references of
// several types. When the context ends, Wait returns the context's error.
func Wait[R AnyRef](ctx context.Context, refs []R, n int) (ready, rest []R, err error) {
	if n < 1 || n > len(refs) {
		return nil, nil, invalid("wait for %d of %d references", n, len(refs))
	}
	list := make([]ids.Object, len(refs))
	var s *Session
	for i, r := range refs {
		h, err := handleOf(r)
		if err == nil && s != nil && h.s != s {
			err = invalid("it belongs to another session than those before it")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("wait for reference %d: %w", i, err)
		}
		s, list[i] = h.s, h.id
	}
	err = s.c.WaitContext(ctx, list, n, func(i int, yes bool) {
		if yes && len(ready) < n {
			ready = append(ready, refs[i])
		} else {
			rest = append(rest, refs[i])
		}
	})
	runtime.KeepAlive(refs)
	if err != nil {
		return nil, nil, fmt.Errorf("wait for %d of %d references: %w", n, len(refs), err)
	}
	return ready, rest, nil
}
