package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
)

// Items are the values that a Python generator yields, one after the other, while it
// runs. The generator is closed when this program does not reach the Items any more.
type Items[T any] struct {
	s       *Session
	gen     ids.Object
	cleanup runtime.Cleanup
	closed  atomic.Bool
}

// Stream calls a generator function; it does not wait. T is what the function yields.
func Stream[T any](ctx context.Context, f *Function, args ...any) (*Items[T], error) {
	if err := begin(ctx, "submit "+f.name); err != nil {
		return nil, err
	}
	template, err := f.t.streaming()
	if err != nil {
		return nil, err
	}
	gen, err := f.call(ctx, template, args)
	if err != nil {
		return nil, err
	}
	return newItems[T](f.s, gen), nil
}

// InvokeStream calls a generator method; it does not wait.
func InvokeStream[T any](ctx context.Context, a *Actor, method string, args ...any) (*Items[T], error) {
	gen, err := a.call(ctx, method, 1, client.Flow{Mode: client.FlowStream, Each: 1}, args)
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

// Next waits for the next item, and returns io.EOF when there are no more. An exception of
// the generator is its last item: Get of that reference returns the exception as an error.
func (i *Items[T]) Next(ctx context.Context) (*Ref[T], error) {
	if i.closed.Load() {
		return nil, invalid("next item of %s: the generator was closed", i.gen)
	}
	id, st, err := i.s.c.NextItemContext(ctx, i.gen)
	runtime.KeepAlive(i)
	switch {
	case err != nil:
		return nil, fmt.Errorf("next item of %s: %w", i.gen, err)
	case st == client.StreamEnd:
		return nil, io.EOF
	}
	return newRef[T](i.s, id), nil
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

// Close closes the generator if it has not ended. From then on Next returns an error. A second Close does nothing.
func (i *Items[T]) Close() {
	if i.closed.CompareAndSwap(false, true) {
		i.cleanup.Stop()
		leave(i.s.c, i.gen)
	}
}

// Cancel ends the generator: see Ref.Cancel.
func (i *Items[T]) Cancel(ctx context.Context, force bool) error {
	if i.closed.Load() {
		return nil
	}
	_, err := inTime(ctx, "cancel", func() (struct{}, error) { return struct{}{}, i.s.c.Cancel(i.gen, force, true) }, nil)
	runtime.KeepAlive(i)
	return err
}
