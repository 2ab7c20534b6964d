package worker

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// registry has what the program has registered.
type registry struct {
	mu        sync.Mutex
	functions map[string]*callable
	actors    map[string]*class
}

var registered = newRegistry()

func newRegistry() *registry {
	return &registry{functions: map[string]*callable{}, actors: map[string]*class{}}
}

// Function registers a function under a name, before Main. It panics when f cannot be called from elsewhere, or when the name is taken: the
// text says why.
func Function(name string, f any) {
	registered.add(name, "function", func() error {
		c, err := newCallable(name, f)
		if err == nil {
			registered.functions[name] = c
		}
		return err
	})
}

// Actor registers a kind of actors by its constructor, a function as in Function whose result is the instance: usually a pointer. It panics
// when that is not so, or when the name is taken.
func Actor(name string, constructor any) {
	registered.add(name, "actor", func() error {
		c, err := newClass(name, constructor)
		if err == nil {
			registered.actors[name] = c
		}
		return err
	})
}

func (r *registry) add(name, kind string, add func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, function := r.functions[name]
	_, actor := r.actors[name]
	switch {
	case name == "" || len(name) > wire.MaxGoName:
		panic(fmt.Sprintf("worker: the name of a %s has from 1 to %d bytes, and %.40q has %d", kind, wire.MaxGoName, name, len(name)))
	case function || actor:
		panic(fmt.Sprintf("worker: %q is registered twice", name))
	}
	if err := add(); err != nil {
		panic(fmt.Sprintf("worker: the %s %q: %v", kind, name, err))
	}
}

// function returns a function by its name. The error lists those that there are.
func (r *registry) function(name string) (*callable, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.functions[name]; c != nil {
		return c, nil
	}
	if r.actors[name] != nil {
		return nil, fmt.Errorf("%q is an actor of the Go worker program, and was called as a function: use go_actor_class in Python, or NewGoActor in Go", name)
	}
	return nil, fmt.Errorf("the Go worker program has no function %q; it has registered %s", name, listed(r.functions, "functions"))
}

// actor returns a kind of actors by its name.
func (r *registry) actor(name string) (*class, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.actors[name]; c != nil {
		return c, nil
	}
	if r.functions[name] != nil {
		return nil, fmt.Errorf("%q is a function of the Go worker program, and an actor was to be made of it: use go_function in Python, or GoFunction in Go", name)
	}
	return nil, fmt.Errorf("the Go worker program has no actor %q; it has registered %s", name, listed(r.actors, "actors"))
}

func listed[T any](m map[string]T, what string) string {
	if len(m) == 0 {
		return "no " + what
	}
	return "the " + what + " " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// Function0 is Function for a function without arguments, of a type that the compiler checks.
func Function0[R any](name string, f func(context.Context) (R, error)) { Function(name, f) }

// Function1 is Function for a function with one argument, of a type that the compiler checks.
func Function1[A, R any](name string, f func(context.Context, A) (R, error)) { Function(name, f) }

// Function2 is Function for a function with two arguments, of a type that the compiler checks.
func Function2[A, B, R any](name string, f func(context.Context, A, B) (R, error)) { Function(name, f) }

// Function3 is Function for a function with three arguments, of a type that the compiler checks.
func Function3[A, B, C, R any](name string, f func(context.Context, A, B, C) (R, error)) {
	Function(name, f)
}

// Function4 is Function for a function with four arguments, of a type that the compiler checks.
func Function4[A, B, C, D, R any](name string, f func(context.Context, A, B, C, D) (R, error)) {
	Function(name, f)
}

// Stream0 is Function for a stream without arguments, of a type that the compiler checks.
func Stream0[T any](name string, f func(context.Context) iter.Seq2[T, error]) { Function(name, f) }

// Stream1 is Function for a stream with one argument, of a type that the compiler checks.
func Stream1[A, T any](name string, f func(context.Context, A) iter.Seq2[T, error]) {
	Function(name, f)
}

// Stream2 is Function for a stream with two arguments, of a type that the compiler checks.
func Stream2[A, B, T any](name string, f func(context.Context, A, B) iter.Seq2[T, error]) {
	Function(name, f)
}
