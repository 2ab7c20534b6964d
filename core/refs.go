package core

import (
	"context"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/value"
)

// AnyRef is a reference to a value of any type: a *Ref.
type AnyRef interface {
	ID() string
	handle() *handle
}

// handle is one counted reference. It is released when nothing in the program reaches it.
type handle struct {
	s  *Session
	id ids.Object
}

func newHandle(s *Session, id ids.Object) *handle {
	h := &handle{s, id}
	runtime.AddCleanup(h, func(id ids.Object) { s.c.Release(client.Drop{Object: id}) }, id)
	return h
}

// Ref is a counted reference to a value of type T, which may not exist yet. The value is kept for
// as long as the program holds the Ref, another process holds a reference, or a task needs the value.
type Ref[T any] struct{ h *handle }

func newRef[T any](s *Session, id ids.Object) *Ref[T] { return &Ref[T]{newHandle(s, id)} }

func (r *Ref[T]) handle() *handle {
	if r == nil {
		return nil
	}
	return r.h
}

// adopt makes the reference one of the handle's object; what reads values calls it.
func (r *Ref[T]) adopt(h *handle) { r.h = h }

// ID returns the object's id in hex.
func (r *Ref[T]) ID() string {
	if r == nil || r.h == nil {
		return ""
	}
	return r.h.id.String()
}

// Cancel ends the task that computes the value. A waiting task never runs; a running task is
// interrupted, or with force its worker is ended. Get returns ErrTaskCancelled then.
func (r *Ref[T]) Cancel(ctx context.Context, force bool) error {
	h, err := handleOf(r)
	if err != nil {
		return err
	}
	return h.s.cancel(ctx, h, force)
}

func (s *Session) cancel(ctx context.Context, h *handle, force bool) error {
	_, err := inTime(ctx, "cancel", func() (struct{}, error) { return struct{}{}, s.c.Cancel(h.id, force, true) }, nil)
	runtime.KeepAlive(h)
	return err
}

// As returns the same reference with another type for the result of Get.
func As[T any](r AnyRef) *Ref[T] {
	if r == nil || r.handle() == nil {
		return nil
	}
	return &Ref[T]{r.handle()}
}

func handleOf(r AnyRef) (*handle, error) {
	if r == nil || r.handle() == nil {
		return nil, &fault.Error{Code: fault.BadRequest, Message: errNilRef.Error()}
	}
	return r.handle(), nil
}

// of returns the handle of a reference that is used in the session.
func (s *Session) of(r AnyRef) (*handle, error) {
	h, err := handleOf(r)
	if err == nil && h.s != s {
		err = invalid("object %s belongs to another session of this program", h.id)
	}
	return h, err
}

// references lets the encoder find references in values. held must stay reachable until the
// value has been handed over.
func (s *Session) references() value.References {
	return value.References{Package: corePackage, Actor: s.handle, Object: func(p any) (id ids.Object, err error) {
		r, ok := p.(AnyRef)
		if !ok {
			return id, invalid("a %T cannot be sent to another process", p)
		}
		h, err := s.of(r)
		if err != nil {
			return id, err
		}
		return h.id, nil
	}}
}

var corePackage = reflect.TypeFor[Session]().PkgPath()

// pin is what keeps a view of the arena. Arrays that show it hold it.
type pin struct{ _ byte }

// views counts the pins that the program has; tests look at it.
var views atomic.Int64

func newPin(s *Session, view uint64) *pin {
	p := &pin{}
	views.Add(1)
	runtime.AddCleanup(p, func(view uint64) {
		views.Add(-1)
		s.c.Release(client.Drop{View: view})
	}, view)
	return p
}

// reader reads a value that the program gets: its arrays hold the pin, its references are counted.
func (s *Session) reader(keep *pin) value.Reader {
	var handles []*handle
	r := value.Reader{
		Table: func(meta []byte) ([]byte, error) {
			list, rest, err := s.c.ImportTable(meta)
			for _, id := range list {
				handles = append(handles, newHandle(s, id))
			}
			return rest, err
		},
		Assign: func(dst reflect.Value, ref value.Ref) bool {
			if int(ref) >= len(handles) {
				return false
			}
			h := handles[ref]
			if dst.Kind() == reflect.Pointer {
				made := reflect.New(dst.Type().Elem())
				if x, ok := made.Interface().(interface{ adopt(*handle) }); ok {
					x.adopt(h)
					dst.Set(made)
					return true
				}
				return false
			}
			any := reflect.ValueOf(&Ref[any]{h})
			if dst.Kind() == reflect.Interface && any.Type().AssignableTo(dst.Type()) {
				dst.Set(any)
				return true
			}
			return false
		},
	}
	r.AssignActor = s.assignActor
	if keep != nil {
		r.Keep = keep
	}
	return r
}
