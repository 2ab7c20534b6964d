package worker

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/crosslanguage"
)

// host is the actor of this process.
type host struct {
	s         *server
	id        ids.Actor
	class     *class
	instance  reflect.Value
	exclusive bool

	mu      sync.Mutex
	methods map[string]*callable
	ending  bool
}

// Methods that every actor has, by the names that Python programs call them by.
const (
	ready     = "__ray_ready__"
	terminate = "__ray_terminate__"
	apply     = "__ray_call__"
)

// becomeActor makes the instance and runs calls until the actor ends, and the process with it. It returns an error only.
func (s *server) becomeActor(it *client.Item) error {
	spec := it.Actor
	s.named(spec.ClassName)
	s.assigned.apply(spec.Assignment.Resources, spec.Assignment.Devices, spec.Assignment.Env)
	s.in.Works(spec.Strategy)
	h := &host{s: s, class: &class{name: spec.ClassName}, exclusive: spec.Exclusive, methods: map[string]*callable{}}
	copy(h.id[:], spec.ActorID)
	s.host = h
	if err := s.c.DeclareGroups(nil, func() { go h.beside(client.SystemGroup) }); err != nil {
		return err
	}
	if err := h.construct(it); err != nil {
		h.constructorFailed(it, err)
	}
	if err := s.c.ActorReady(it.Token, true, "", nil, nil); err != nil {
		return err
	}
	for range max(1, spec.MaxConcurrency) - 1 {
		go h.beside("")
	}
	return h.serve("")
}

// construct makes the instance.
func (h *host) construct(it *client.Item) error {
	name, err := h.s.code(it.Tmpl.FID)
	if err != nil {
		return refused{err}
	}
	if h.class, err = h.s.reg.actor(name); err != nil {
		h.class = &class{name: name}
		return refused{err}
	}
	a, done, err := h.s.arguments(it)
	if err != nil {
		return refused{fmt.Errorf("its arguments: %w", err)}
	}
	ctx := h.s.contextOf(it)
	in, err := h.class.constructor.arguments(ctx, a)
	done()
	if err != nil {
		return refused{err}
	}
	v, err := guarded(h.class.constructor, in)
	switch {
	case err != nil:
		return err
	case (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil():
		return errors.New("its constructor returned nil")
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	h.instance = v
	return nil
}

// constructorFailed tells why the actor does not exist, and ends the process.
func (h *host) constructorFailed(it *client.Item, err error) {
	s := h.s
	if errors.Is(err, ErrExitActor) {
		_ = s.c.ActorReady(it.Token, false, "the constructor of "+h.class.name+" ended the actor", nil, nil)
		s.leave("its constructor ended it")
	}
	class, stack := describe(err)
	o := s.origin(it.Tmpl.Name)
	fmt.Fprintf(os.Stderr, "The constructor failed: %v\n", err)
	_ = s.c.ActorReady(it.Token, false, "the constructor of the Go actor "+h.class.name+" failed: "+err.Error(), crosslanguage.EncodeConstructor(o, class, err.Error(), stack), nil)
	s.leave("its constructor failed")
}

// beside is serve for a goroutine of its own.
func (h *host) beside(group string) {
	fmt.Fprintln(os.Stderr, h.serve(group))
	os.Exit(1)
}

// serve takes calls of a concurrency group, "" for the default one, on this goroutine until the actor ends.
func (h *host) serve(group string) error {
	for {
		it, err := h.s.next(group)
		if err != nil {
			return fmt.Errorf("this actor takes no calls any more: %w", err)
		}
		switch it.Kind {
		case client.ItemMethod:
			h.method(it)
		case client.ItemForget:
			h.s.c.Unload([16]byte(it.Blob))
		case client.ItemExit:
			h.end(it.Reason, 0)
		}
	}
}

// lookAgain is how often a call of an exclusive actor looks whether it may begin.
const lookAgain = 20 * time.Millisecond

// method runs a call and answers it.
func (h *host) method(it *client.Item) {
	s := h.s
	for h.exclusive && !s.c.MayBegin() {
		time.Sleep(lookAgain)
	}
	name := it.Tmpl.Method
	switch name {
	case ready:
		v, _ := s.in.Encode(true)
		s.reply(it, &result{values: []client.Value{v}})
		return
	case terminate:
		h.end(exitReason, it.Token)
	case apply:
		r := s.failed(it, refused{errors.New("a Go actor cannot run Python code")})
		s.reply(it, &r)
		return
	}
	var r result
	if m, err := h.find(name); err != nil {
		r = s.failed(it, refused{err})
	} else {
		r = s.run(it, m)
	}
	if r.exit {
		h.end(exitReason, it.Token)
	}
	s.reply(it, &r)
}

// exitReason is why an actor ends that ends itself; Python's has the same.
const exitReason = "exit_actor() was called"

// find returns a method.
func (h *host) find(name string) (*callable, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.methods[name]; m != nil {
		return m, nil
	}
	m, err := h.class.method(h.instance, name)
	if err == nil {
		h.methods[name] = m
	}
	return m, err
}

// end ends the actor: the calls that run end before, and no other one begins. Token is that of the call that ends it, 0 for none.
func (h *host) end(reason string, token uint64) {
	h.s.c.LastCalls(token, -1)
	if h.ends() {
		select {} // another goroutine ends the process in this moment
	}
	h.s.leave(reason)
}

// ends notes that the process ends, and reports whether that was noted before.
func (h *host) ends() (again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	again, h.ending = h.ending, true
	return again
}
