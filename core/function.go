package core

import (
	"context"
	"crypto/sha256"
	"runtime"
	"strings"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/inside"
	"github.com/eagleray/eagleray/core/internal/value"
)

// Kwargs are keyword arguments of a call. They are given as the last argument:
//
//	core.Submit[float64](ctx, f, 1, core.Kwargs{"scale": 2.5})
type Kwargs map[string]any

// byPath returns the function id and bytes of a function or class that workers import.
func byPath(path string) (fid, blob []byte, err error) {
	mod, name, ok := strings.Cut(path, ":")
	if !ok || mod == "" || name == "" {
		return nil, nil, invalid("function %q: want \"module:name\", such as \"math:sqrt\"", path)
	}
	blob = []byte(client.PathPrefix + path)
	h := sha256.Sum256(blob)
	return h[:16], blob, nil
}

// Function is a Python function, or a Go function of a worker program, with options. The cluster drops what it keeps of the function when the
// program does not reach it any more and its calls have ended.
type Function struct {
	s       *Session
	name    string
	returns int
	t       *templates
}

// templates are the numbers that a function has with the client.
type templates struct {
	s     *Session
	plain int

	mu     sync.Mutex
	stream int // -1: none yet
	spec   client.Template
}

func (t *templates) retire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s.c.Retire(t.plain)
	if t.stream >= 0 {
		t.s.c.Retire(t.stream)
	}
}

// streaming returns the number for Stream.
func (t *templates) streaming() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream < 0 {
		x := t.spec
		id, err := t.s.c.NewTemplate(&x)
		if err != nil {
			return 0, err
		}
		t.stream = id
	}
	return t.stream, nil
}

// Function names a Python function by import path, "module:name". Nothing is sent yet: if there is
// no such function, its calls return an error.
func (s *Session) Function(path string, o Call) (*Function, error) {
	return s.function(python, path, o)
}

func (s *Session) function(in *language, path string, o Call) (*Function, error) {
	fid, blob, err := in.code(path)
	if err != nil {
		return nil, err
	}
	name := o.Name
	if name == "" {
		name = nameOf(path)
	}
	if err := o.checkFunction(name); err != nil {
		return nil, err
	}
	if err := in.check(&o, name); err != nil {
		return nil, err
	}
	t := &client.Template{Kind: client.KindTask, Name: name, FID: fid, Blob: blob, Returns: max(1, o.NumReturns), RetryErrs: o.RetryExceptions}
	if t.Strategy, err = s.strategy(&o, name); err != nil {
		return nil, err
	}
	if t.EnvKey, err = in.env(s, &o); err != nil {
		return nil, err
	}
	if t.Resources, err = o.amounts(o.functionCPUs()); err != nil {
		return nil, err
	}
	if t.AfterMs, err = o.afterMs(); err != nil {
		return nil, err
	}
	if t.Fallback, err = o.functionFallback(in); err != nil {
		return nil, err
	}
	if t.MaxRetries, err = o.retries(name); err != nil {
		return nil, err
	}
	if t.MaxCalls, err = o.maxCalls(name, t.Resources); err != nil {
		return nil, err
	}
	if t.Enforce, err = s.enforce(&o, name); err != nil {
		return nil, err
	}
	streams := *t // the client's own from here on
	streams.Returns, streams.Flow = 1, client.Flow{Mode: client.FlowStream, Each: 1, Limit: uint64(o.ItemsAhead)}
	id, err := s.c.NewTemplate(t)
	if err != nil {
		return nil, err
	}
	f := &Function{s: s, name: name, returns: t.Returns, t: &templates{s: s, plain: id, stream: -1, spec: streams}}
	runtime.AddCleanup(f, (*templates).retire, f.t)
	return f, nil
}

// call is a submission that was made ready.
type call struct {
	client.Call
	wait bool // its arguments may have to wait for room in the store
}

// arguments packs the arguments of a call; references among them are resolved before it runs.
func (s *Session) arguments(args []any) (c call, err error) {
	var named map[string]any
	if n := len(args); n > 0 {
		if k, ok := args[n-1].(Kwargs); ok {
			args, named = args[:n-1], make(map[string]any, len(k))
			for name, a := range k {
				named[name] = a
			}
		}
	}
	plain := make([]any, len(args))
	var slots []any
	take := func(a any, slot any) (any, error) {
		switch x := a.(type) {
		case Kwargs:
			return nil, invalid("argument %v: Kwargs are the last argument of a call, and there is only one of them", slot)
		case AnyRef:
			h, err := s.of(x)
			if err != nil {
				return nil, invalid("argument %v: %v", slot, err)
			}
			c.Deps = append(c.Deps, h.id)
			slots = append(slots, slot)
			return nil, nil
		}
		return a, nil
	}
	for i, a := range args {
		if plain[i], err = take(a, i); err != nil {
			return c, err
		}
	}
	for name, a := range named {
		if named[name], err = take(a, name); err != nil {
			return c, err
		}
	}
	e, err := value.Args(plain, named, slots, s.references())
	if err != nil {
		return c, err
	}
	c.wait = mayWait(e)
	c.Args, err = s.valueOf(e)
	return c, err
}

// submit hands a call with n results over, by do, and returns its first result's object.
func (s *Session) submit(ctx context.Context, c *call, n int, do func() (ids.Object, error)) (ids.Object, error) {
	if c.wait {
		return inTime(ctx, "submit", do, func(id ids.Object) {
			_ = s.c.Cancel(id, false, true) // nobody waits for it
			for i := range n {
				s.release(id.Sibling(i))
			}
		})
	}
	return do()
}

func (f *Function) call(ctx context.Context, template int, args []any) (id ids.Object, err error) {
	c, err := f.s.arguments(args)
	if err != nil {
		return id, err
	}
	c.Template, c.Parent = template, inside.CallOf(ctx)
	id, err = f.s.submit(ctx, &c, f.returns, func() (ids.Object, error) {
		first, _, err := f.s.c.Submit(&c.Call)
		return first, err
	})
	runtime.KeepAlive(args)
	runtime.KeepAlive(f)
	return id, err
}

// Submit calls the function; it does not wait for the result, whose type is T. The context bounds
// the submission, not the call: use Cancel of the result for that.
func Submit[T any](ctx context.Context, f *Function, args ...any) (*Ref[T], error) {
	if err := begin(ctx, "submit "+f.name); err != nil {
		return nil, err
	}
	if f.returns != 1 {
		return nil, invalid("%s has %d results: use SubmitMany", f.name, f.returns)
	}
	id, err := f.call(ctx, f.t.plain, args)
	if err != nil {
		return nil, err
	}
	return newRef[T](f.s, id), nil
}

// SubmitMany is Submit for a function with NumReturns results, of which each gets a reference. Results
// of different types are references of any, to which As gives a type.
func SubmitMany[T any](ctx context.Context, f *Function, args ...any) ([]*Ref[T], error) {
	if err := begin(ctx, "submit "+f.name); err != nil {
		return nil, err
	}
	first, err := f.call(ctx, f.t.plain, args)
	if err != nil {
		return nil, err
	}
	return results[T](f.s, first, f.returns), nil
}

// results returns the references of a call's results, whose objects have counts one after the other.
func results[T any](s *Session, first ids.Object, n int) []*Ref[T] {
	refs := make([]*Ref[T], n)
	for i := range refs {
		refs[i] = newRef[T](s, first.Sibling(i))
	}
	return refs
}
