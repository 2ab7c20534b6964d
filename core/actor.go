package core

import (
	"context"
	"fmt"
	"reflect"
	"runtime"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/inside"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/value"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Actor is a Python actor, or an actor of a Go worker program, that this program created or looked up. One that this program created, and
// that is not detached, ends when nobody in the cluster can call it any more.
type Actor struct {
	s         *Session
	id        ids.Actor
	class     string
	retries   int // MaxTaskRetries
	retryErrs bool
	unordered bool   // a call whose arguments are late holds no later ones back
	meta      []byte // what Python keeps of the class; nil: of an actor of a Python class that a Go program has created
}

// NewActor creates a Python actor of the class at an import path. It waits only when the actor has a
// Name, which must be free. An exception of the constructor becomes the error of the actor's calls.
func (s *Session) NewActor(ctx context.Context, path string, o Call, args ...any) (*Actor, error) {
	return s.newActor(ctx, python, path, o, args)
}

func (s *Session) newActor(ctx context.Context, in *language, path string, o Call, args []any) (*Actor, error) {
	if err := begin(ctx, "create actor "+path); err != nil {
		return nil, err
	}
	fid, blob, err := in.code(path)
	if err != nil {
		return nil, err
	}
	class := nameOf(path)
	if err := o.checkActor(class); err != nil {
		return nil, err
	}
	if err := in.check(&o, class); err != nil {
		return nil, err
	}
	spec := &client.ActorSpec{FID: fid, Blob: blob, ActorCreate: wire.ActorCreate{
		ClassName: class, Name: o.Name, Namespace: o.Namespace, Detached: o.Detached, GetIfExists: o.GetIfExists,
		MaxRestarts: o.MaxRestarts, MaxConcurrency: max(1, o.MaxConcurrency), MaxPendingCalls: o.MaxPendingCalls, Exclusive: o.exclusive()}}
	if spec.Resources, spec.RunResources, err = o.actorAmounts(); err != nil {
		return nil, err
	}
	if spec.Enforce, err = s.enforce(&o, class); err != nil {
		return nil, err
	}
	if spec.Strategy, err = s.strategy(&o, class); err != nil {
		return nil, err
	}
	if spec.EnvKey, err = in.env(s, &o); err != nil {
		return nil, err
	}
	if err := o.actorFallback(in, spec); err != nil {
		return nil, err
	}
	c, err := s.arguments(args)
	if err != nil {
		return nil, err
	}
	spec.Meta = in.describe(class, &o)
	a := &Actor{s: s, class: class, retries: o.MaxTaskRetries, retryErrs: o.RetryExceptions, unordered: o.MaxConcurrency > 1, meta: spec.Meta}
	create := func() (*wire.ActorNamed, error) {
		id, existing, err := s.c.NewActor(spec, &c.Args, c.Deps)
		a.id = id
		return existing, err
	}
	var existing *wire.ActorNamed
	if c.wait || o.Name != "" {
		existing, err = inTime(ctx, "create actor "+path, create, func(existing *wire.ActorNamed) {
			if existing == nil {
				s.letGo(a.id, s.c.ActorTokenID(a.id))
			}
		})
	} else {
		existing, err = create()
	}
	runtime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	if existing != nil {
		return s.open(existing)
	}
	a.count(s.c.ActorTokenID(a.id))
	return a, nil
}

// GetActor returns the living actor of a name. Namespace "" is the session's.
func (s *Session) GetActor(ctx context.Context, name, namespace string) (*Actor, error) {
	if name == "" {
		return nil, invalid("the name of an actor is empty")
	}
	if namespace == "" {
		namespace = s.c.Info().Namespace
	}
	var found wire.ActorNamed
	if err := s.c.Ask(ctx, wire.TActorByName, wire.ActorByName{Name: name, Namespace: namespace}, &found); err != nil {
		return nil, fmt.Errorf("look up actor %q in namespace %q: %w", name, namespace, err)
	}
	return s.open(&found)
}

// open makes a handle of an actor that was found by its name.
func (s *Session) open(found *wire.ActorNamed) (*Actor, error) {
	return s.openActor(found.ActorID, "", found.Meta)
}

// openActor makes a handle. Token is for handles that are counted.
func (s *Session) openActor(id []byte, token string, meta []byte) (*Actor, error) {
	a := &Actor{s: s, class: "actor", meta: meta}
	if len(id) != len(a.id) {
		return nil, fmt.Errorf("an actor's id has %d bytes, want %d", len(id), len(a.id))
	}
	copy(a.id[:], id)
	limit := 0
	if v, err := store.DecodePlain(meta); err == nil { // what Python keeps of the class
		m, _ := v.(map[string]any)
		if name, ok := m["name"].(string); ok {
			a.class = name
		}
		if n, ok := m["pending"].(int64); ok && n > 0 {
			limit = int(n)
		}
		if n, ok := m["retries"].(int64); ok {
			a.retries = int(n)
		}
		a.unordered, _ = m["unordered"].(bool)
	}
	tok, err := s.c.OpenActor(a.id, token, a.class, limit, 0)
	if err != nil {
		return nil, err
	}
	a.count(tok)
	return a, nil
}

// handle returns the form in which an actor travels inside of a value, nil for another pointer.
func (s *Session) handle(p any) *value.Handle {
	a, ok := p.(*Actor)
	if !ok || a.s != s {
		return nil
	}
	return &value.Handle{ID: a.id[:], Token: s.c.ActorToken(a.id), Meta: a.meta, Held: s.c.ActorTokenID(a.id)}
}

var actorType = reflect.TypeFor[*Actor]()

// assignActor sets dst to an actor that came inside of a value.
func (s *Session) assignActor(dst reflect.Value, h value.Handle) (bool, error) {
	if !actorType.AssignableTo(dst.Type()) {
		return false, nil
	}
	a, err := s.openActor(h.ID, h.Token, h.Meta)
	if err != nil {
		return false, err
	}
	dst.Set(reflect.ValueOf(a))
	return true, nil
}

// count arranges that the handle is given back when the program does not reach it any more.
func (a *Actor) count(tok ids.Object) {
	s, id := a.s, a.id
	runtime.AddCleanup(a, func(tok ids.Object) { s.letGo(id, tok) }, tok)
}

func (s *Session) letGo(id ids.Actor, tok ids.Object) {
	if tok == (ids.Object{}) {
		s.c.CloseActor(id)
		return
	}
	s.c.Release(client.Drop{Object: tok})
}

// ID returns the actor's id in hex.
func (a *Actor) ID() string { return a.id.String() }

// Kill ends the actor at once. Its calls return ErrActorDied.
func (a *Actor) Kill(ctx context.Context) error {
	_, err := inTime(ctx, "kill actor "+a.class, func() (struct{}, error) { return struct{}{}, a.s.c.KillActor(a.id, true) }, nil)
	runtime.KeepAlive(a)
	return err
}

// call calls a method with n results and returns the first one's object.
func (a *Actor) call(ctx context.Context, method string, n int, f client.Flow, args []any) (id ids.Object, err error) {
	if err := begin(ctx, "call "+a.class+"."+method); err != nil {
		return id, err
	}
	if n < 1 || n > maxReturns {
		return id, invalid("%s.%s: %d results, want from 1 to %d", a.class, method, n, maxReturns)
	}
	c, err := a.s.arguments(args)
	if err != nil {
		return id, err
	}
	c.Parent = inside.CallOf(ctx)
	if c.Template, err = a.s.method(methodKey{a.class, method, n, a.retries, a.retryErrs, a.unordered, f}); err != nil {
		return id, err
	}
	id, err = a.s.submit(ctx, &c, n, func() (ids.Object, error) {
		first, _, err := a.s.c.CallActor(a.id, &c.Call)
		return first, err
	})
	runtime.KeepAlive(args)
	runtime.KeepAlive(a)
	return id, err
}

// Invoke calls a method; it does not wait for the result, whose type is T. Calls of one goroutine run
// in order, unless the actor runs several at a time (MaxConcurrency). The context bounds the submission, not the call.
func Invoke[T any](ctx context.Context, a *Actor, method string, args ...any) (*Ref[T], error) {
	id, err := a.call(ctx, method, 1, client.Flow{}, args)
	if err != nil {
		return nil, err
	}
	return newRef[T](a.s, id), nil
}

// InvokeMany is Invoke for a method that returns n results, of which each gets a reference.
func InvokeMany[T any](ctx context.Context, a *Actor, method string, n int, args ...any) ([]*Ref[T], error) {
	first, err := a.call(ctx, method, n, client.Flow{}, args)
	if err != nil {
		return nil, err
	}
	return results[T](a.s, first, n), nil
}

// methodKey identifies the template that calls of a method share.
type methodKey struct {
	class, name string
	returns     int
	retries     int
	retryErrs   bool
	unordered   bool
	flow        client.Flow
}

// method returns the session's template for calls of a method.
func (s *Session) method(k methodKey) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.methods[k]; ok {
		return t, nil
	}
	t, err := s.c.NewTemplate(&client.Template{Kind: client.KindMethod, Name: k.class + "." + k.name, Method: k.name, Returns: k.returns,
		MaxRetries: k.retries, RetryErrs: k.retryErrs, Unordered: k.unordered, Flow: k.flow})
	if err == nil {
		s.methods[k] = t
	}
	return t, err
}
