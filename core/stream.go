package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"

	"github.com/eagleray/eagleray/core/client"
	"github.com/eagleray/eagleray/core/ids"
)

// Items are what a Python generator yields, one after the other, while it
// runs. It is closed when this program lets go of them before their end.
type Items[T any] struct {
	s       *Session
	gen     ids.Object
	cleanup runtime.Cleanup
}

// streaming registers the template of a function for Stream.
func (s *Session) streaming(t client.Template, ahead int) (int, error) {
	t.Flow = client.Flow{Mode: client.FlowStream, Each: 1, Limit: uint64(ahead)}
	return s.c.NewTemplate(&t)
}

// Stream calls a generator function; it does not wait. T is what the function yields.
func Stream[T any](f *Function, args ...any) (*Items[T], error) {
	tmpl, err := f.stream()
	if err != nil {
		return nil, err
	}
	v, deps, err := arguments(args)
	if err != nil {
		return nil, err
	}
	gen, _, err := f.s.c.Submit(&client.Call{Template: tmpl, Args: v, Deps: deps})
	runtime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	return newItems[T](f.s, gen), nil
}

// InvokeStream calls a generator method; it does not wait.
func InvokeStream[T any](a *Actor, method string, args ...any) (*Items[T], error) {
	v, deps, err := arguments(args)
	if err != nil {
		return nil, err
	}
	t, err := a.s.method(method, client.Flow{Mode: client.FlowStream, Each: 1})
	if err != nil {
		return nil, err
	}
	gen, _, err := a.s.c.CallActor(a.id, &client.Call{Template: t, Args: v, Deps: deps})
	runtime.KeepAlive(args)
	runtime.KeepAlive(a)
	if err != nil {
		return nil, err
	}
	return newItems[T](a.s, gen), nil
}

func newItems[T any](s *Session, gen ids.Object) *Items[T] {
	i := &Items[T]{s: s, gen: gen}
	i.cleanup = runtime.AddCleanup(i, func(gen ids.Object) { leave(s.c, gen) }, gen)
	return i
}

func leave(c *client.Client, gen ids.Object) {
	c.Release(client.Drop{Object: gen, View: client.DropStream})
	c.Release(client.Drop{Object: gen})
}

// Next waits for the next item; io.EOF: there are no more. An exception of the
// generator is its last item: Get of the reference returns it.
func (i *Items[T]) Next(ctx context.Context) (*Ref[T], error) {
	for {
		id, st, err := i.s.c.NextItem(i.gen, slice)
		switch {
		case err != nil:
			return nil, err
		case st == client.StreamEnd:
			return nil, io.EOF
		case st != client.StreamWaits:
			return newRef[T](i.s, id), nil
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("next item of %s: %w", i.gen, err)
		}
	}
}

// All iterates over the values. After an error it ends.
func (i *Items[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			ref, err := i.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			var v T
			if err == nil {
				v, err = Get(ctx, ref)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the generator if it has not ended. Next is not to be called any more.
func (i *Items[T]) Close() {
	i.cleanup.Stop()
	leave(i.s.c, i.gen)
}

// Cancel ends the generator: see Ref.Cancel.
func (i *Items[T]) Cancel(force bool) error { return i.s.c.Cancel(i.gen, force, true) }
