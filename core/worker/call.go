package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/inside"
	"github.com/eagleray/eagleray/core/internal/value"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// result is how a call has ended.
type result struct {
	values []client.Value
	flags  int
	keep   []any // what the values refer to
	exit   bool  // the call ends its actor
}

// task runs a task and answers it.
func (s *server) task(it *client.Item) {
	fid := it.Tmpl.FID
	s.named(it.Tmpl.Name)
	s.assigned.restore()
	c, err := s.function(fid)
	var r result
	if err != nil {
		r = s.failed(it, refused{err})
	} else {
		r = s.run(it, c)
	}
	reason := s.last(it)
	if reason != "" {
		r.flags |= wire.ReplyExiting
	}
	s.reply(it, &r)
	if reason != "" {
		s.leave(reason)
	}
}

// function returns what a task runs.
func (s *server) function(fid [16]byte) (*callable, error) {
	if c := s.found[fid]; c != nil {
		return c, nil
	}
	name, err := s.code(fid)
	if err != nil {
		return nil, err
	}
	c, err := s.reg.function(name)
	if err == nil {
		s.found[fid] = c
	}
	return c, err
}

// code returns the name of what travels under an id.
func (s *server) code(fid [16]byte) (string, error) {
	blob, err := s.c.Function(fid)
	if err != nil {
		return "", err
	}
	name, ok := bytes.CutPrefix(blob, []byte(wire.GoCodePrefix))
	if !ok {
		return "", errors.New("this is a Python function or class, and its runtime environment has the workers of a Go program: leave out EAGLERAY_GO_WORKER")
	}
	return string(name), nil
}

// last says why the process ends after this task, "" when it goes on.
func (s *server) last(it *client.Item) string {
	limit := it.Tmpl.MaxCalls
	if limit <= 0 {
		return ""
	}
	s.calls[it.Tmpl.FID]++
	if s.calls[it.Tmpl.FID] >= limit {
		return "max_calls"
	}
	return ""
}

// reply answers a call.
func (s *server) reply(it *client.Item, r *result) {
	if err := s.c.Reply(it.Token, r.values, r.flags); err != nil && fault.CodeOf(err) != fault.Closed {
		fmt.Fprintf(os.Stderr, "eagleray: the answer of %s: %v\n", it.Tmpl.Name, err)
	}
	runtime.KeepAlive(r.keep)
}

// run runs a call on this goroutine.
func (s *server) run(it *client.Item, c *callable) (r result) {
	ctx, cancel := context.WithCancel(s.contextOf(it))
	defer cancel()
	s.begin(it, cancel)
	defer s.end(it)
	a, dropped, err := s.arguments(it)
	if err != nil {
		var lost *argumentFailed
		if errors.As(err, &lost) {
			return result{values: []client.Value{lost.value}, flags: wire.ReplyAppError | wire.ReplyNoRetry}
		}
		return s.failed(it, refused{fmt.Errorf("its arguments: %w", err)})
	}
	in, err := c.arguments(ctx, a)
	dropped()
	if err != nil {
		return s.failed(it, refused{err})
	}
	if streams, wanted := c.stream != nil, it.Returns < 0; streams != wanted {
		return s.failed(it, refused{wrongFlow(c, streams)})
	}
	if it.Returns < 0 {
		return s.stream(ctx, it, c, in)
	}
	v, err := guarded(c, in)
	switch {
	case err != nil:
		return s.outcome(ctx, it, err)
	case it.Returns == 0:
		return result{}
	}
	r, err = s.results(it, c, v)
	if err != nil {
		return s.failed(it, unsendable{err})
	}
	return r
}

func wrongFlow(c *callable, streams bool) error {
	if streams {
		return fmt.Errorf("%s is a stream: call it with num_returns=\"streaming\" in Python, with Stream or InvokeStream in Go", c)
	}
	return fmt.Errorf("%s returns one result and is no stream: a stream returns an iter.Seq2 of values and errors", c)
}

// contextOf returns the context of a call, which is not cancelled yet.
func (s *server) contextOf(it *client.Item) context.Context {
	info := Info{Name: it.Tmpl.Name, TaskID: it.TaskID.String(), JobID: s.job, NodeID: s.node}
	if s.host != nil {
		info.ActorID = hexOf(s.host.id)
	}
	return context.WithValue(inside.WithCall(context.Background(), it.Token), callKey{}, &call{s: s, info: info})
}

// begin notes a call, so that it can be cancelled.
func (s *server) begin(it *client.Item, cancel context.CancelFunc) {
	s.noteRunning(it, cancel)
	if s.c.Cancelled(it.TaskID) { // before it was noted
		cancel()
	}
}

func (s *server) noteRunning(it *client.Item, cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[it.TaskID] = cancel
}

func (s *server) end(it *client.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, it.TaskID)
}

// guarded calls the function; a panic is an error.
func guarded(c *callable, in []reflect.Value) (v reflect.Value, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = recovered(x)
		}
	}()
	return c.call(in)
}

// outcome is the end of a call whose code has failed.
func (s *server) outcome(ctx context.Context, it *client.Item, err error) result {
	switch {
	case errors.Is(err, ErrExitActor) && s.host != nil:
		return result{exit: true}
	case gaveUp(ctx, err):
		return result{flags: wire.ReplyCancelled}
	}
	r := s.failed(it, err)
	if !errors.As(err, new(noRetry)) {
		r.flags &^= wire.ReplyNoRetry
	}
	return r
}

// failed is the end of a call that is not tried again.
func (s *server) failed(it *client.Item, err error) result {
	return result{values: []client.Value{s.failure(it.Tmpl.Name, err)}, flags: wire.ReplyAppError | wire.ReplyNoRetry}
}

// results packs what a function has returned.
func (s *server) results(it *client.Item, c *callable, v reflect.Value) (r result, err error) {
	if it.Returns == 1 {
		var one any
		if c.result {
			one = v.Interface()
		}
		return s.packed(it, []any{one})
	}
	if !c.result || v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return r, fmt.Errorf("%s was called for %d results, and only a slice or an array can be these", c, it.Returns)
	}
	if v.Len() != it.Returns {
		return r, fmt.Errorf("%s returned %d values, and was called for %d results", c, v.Len(), it.Returns)
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = v.Index(i).Interface()
	}
	return s.packed(it, list)
}

func (s *server) packed(it *client.Item, list []any) (r result, err error) {
	r = result{values: make([]client.Value, len(list)), keep: list}
	for i, v := range list {
		if r.values[i], err = s.in.Encode(v); err != nil {
			return r, fmt.Errorf("it cannot be sent: %w", err)
		}
	}
	return r, nil
}

// argumentFailed says that an argument has no value but an error, which the call fails with, too.
type argumentFailed struct{ value client.Value }

func (e *argumentFailed) Error() string { return "an argument could not be computed" }

// arguments reads what a call takes. Done is to be called when Go values were made of it.
func (s *server) arguments(it *client.Item) (a *value.Arguments, done func(), err error) {
	var dones []func()
	done = func() {
		for _, f := range dones {
			f()
		}
	}
	read := func(f *client.Found) value.Input {
		r, over := s.in.Reader(f.View)
		dones = append(dones, over)
		return value.Input{Envelope: f.Envelope, Reader: r}
	}
	in := read(&it.Args)
	deps := make([]value.Input, len(it.Deps))
	for i := range it.Deps {
		d := &it.Deps[i]
		deps[i] = read(d)
		if deps[i].Envelope, err = s.c.Follow(d.Envelope); err != nil {
			return nil, done, err
		}
		if v, failed := failureIn(deps[i].Envelope); failed {
			err = &argumentFailed{v}
		}
	}
	if err != nil {
		done()
		return nil, done, err
	}
	a, err = value.ReadArguments(in, deps)
	if err != nil {
		done()
	}
	return a, done, err
}
