package worker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/value"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// callable is a function or a bound method that calls of others run.
type callable struct {
	name     string
	f        reflect.Value
	context  bool           // it takes one first
	in       []reflect.Type // the other arguments; the last one is a slice when variadic is set
	variadic bool
	result   bool // it returns a value, or a stream
	fails    bool // it returns an error last
	stream   *sequence
}

// sequence is the type of a stream.
type sequence struct {
	yield reflect.Type // func(T) bool, or func(T, error) bool
	fails bool         // items come with errors
}

// newCallable looks at a function's type.
func newCallable(name string, f any) (*callable, error) {
	v := reflect.ValueOf(f)
	if !v.IsValid() || v.Kind() != reflect.Func {
		return nil, fmt.Errorf("a %T is no function", f)
	}
	if v.IsNil() {
		return nil, errors.New("the function is nil")
	}
	return callableOf(name, v)
}

func callableOf(name string, f reflect.Value) (*callable, error) {
	t := f.Type()
	c := &callable{name: name, f: f, variadic: t.IsVariadic()}
	for i := range t.NumIn() {
		in := t.In(i)
		if in == contextType {
			if i > 0 {
				return nil, errors.New("a context is the first argument, or there is none")
			}
			c.context = true
			continue
		}
		if err := carried(in); err != nil {
			return nil, fmt.Errorf("argument %d: %w", len(c.in), err)
		}
		c.in = append(c.in, in)
	}
	outs := make([]reflect.Type, t.NumOut())
	for i := range outs {
		outs[i] = t.Out(i)
	}
	if n := len(outs); n > 0 && outs[n-1] == errorType {
		c.fails, outs = true, outs[:n-1]
	}
	if len(outs) > 1 {
		return nil, fmt.Errorf("it returns %d values: return one, for instance a slice or a struct, and an error", len(outs))
	}
	if len(outs) == 0 {
		return c, nil
	}
	c.result = true
	if c.stream = sequenceOf(outs[0]); c.stream == nil {
		if err := carried(outs[0]); err != nil {
			return nil, fmt.Errorf("its result: %w", err)
		}
	}
	return c, nil
}

// sequenceOf returns what an iter.Seq or an iter.Seq2 with errors yields, nil for another type.
func sequenceOf(t reflect.Type) *sequence {
	if t.Kind() != reflect.Func || t.NumIn() != 1 || t.NumOut() != 0 || t.IsVariadic() {
		return nil
	}
	y := t.In(0)
	if y.Kind() != reflect.Func || y.NumOut() != 1 || y.Out(0).Kind() != reflect.Bool || y.NumIn() < 1 || y.NumIn() > 2 {
		return nil
	}
	if y.NumIn() == 2 && y.In(1) != errorType {
		return nil
	}
	return &sequence{yield: y, fails: y.NumIn() == 2}
}

// carried refuses types of which no value can travel.
func carried(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("a %s cannot travel between processes", t)
	}
	return nil
}

// String describes the arguments, as messages do.
func (c *callable) String() string {
	var in []string
	for i, t := range c.in {
		if c.variadic && i == len(c.in)-1 {
			in = append(in, "..."+t.Elem().String())
			continue
		}
		in = append(in, t.String())
	}
	return c.name + "(" + strings.Join(in, ", ") + ")"
}

// arguments makes Go values of what a call has brought.
func (c *callable) arguments(ctx context.Context, a *value.Arguments) ([]reflect.Value, error) {
	if names := a.Named(); len(names) > 0 {
		slices.Sort(names)
		return nil, fmt.Errorf("%s is a Go function and has no keyword arguments, but was given %s: pass them by position", c, strings.Join(names, ", "))
	}
	n, fixed := a.Len(), len(c.in)
	if c.variadic {
		fixed--
	}
	if n < fixed || n > fixed && !c.variadic {
		return nil, fmt.Errorf("%s takes %s, and was given %d", c, counted(fixed, c.variadic), n)
	}
	in := make([]reflect.Value, 0, n+1)
	if c.context {
		in = append(in, reflect.ValueOf(ctx))
	}
	for i := range n {
		t := c.in[min(i, len(c.in)-1)]
		if i >= fixed {
			t = t.Elem()
		}
		v := reflect.New(t).Elem()
		if err := a.Assign(i, v); err != nil {
			return nil, fmt.Errorf("argument %d of %s: %w", i, c, err)
		}
		in = append(in, v)
	}
	return in, nil
}

func counted(n int, more bool) string {
	text := fmt.Sprintf("%d arguments", n)
	if n == 1 {
		text = "1 argument"
	}
	if more {
		text += " or more"
	}
	return text
}

// call runs the function. The value is nil when it has none.
func (c *callable) call(in []reflect.Value) (v reflect.Value, err error) {
	out := c.f.Call(in)
	if c.fails {
		last := out[len(out)-1]
		if out = out[:len(out)-1]; !last.IsNil() {
			err = last.Interface().(error)
		}
	}
	if len(out) > 0 {
		v = out[0]
	}
	return v, err
}

// class is a kind of actors.
type class struct {
	name        string
	constructor *callable
	instance    reflect.Type
}

func newClass(name string, constructor any) (*class, error) {
	c, err := newCallable(name, constructor)
	if err != nil {
		return nil, fmt.Errorf("its constructor: %w", err)
	}
	if !c.result || c.stream != nil {
		return nil, errors.New("its constructor must return the instance, and may return an error after it")
	}
	t := c.f.Type().Out(0)
	if t.NumMethod() == 0 {
		return nil, fmt.Errorf("a %s has no exported methods that could be called", t)
	}
	return &class{name: name, constructor: c, instance: t}, nil
}

// methods returns the names that can be called.
func (c *class) methods(instance reflect.Value) []string {
	var names []string
	t := instance.Type()
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

// method returns a method of an instance.
func (c *class) method(instance reflect.Value, name string) (*callable, error) {
	m := instance.MethodByName(name)
	if !m.IsValid() {
		return nil, fmt.Errorf("the Go actor %s has no method %q; its methods are %s", c.name, name, strings.Join(c.methods(instance), ", "))
	}
	made, err := callableOf(c.name+"."+name, m)
	if err != nil {
		return nil, fmt.Errorf("the method %s of the Go actor %s cannot be called from elsewhere: %w", name, c.name, err)
	}
	return made, nil
}
