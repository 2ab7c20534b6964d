package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/crosslanguage"
	"github.com/eagleray/eagleray/core/internal/store"
)

// ErrExitActor, as the error of an actor's method, ends the actor: its earlier calls are answered, and those that have not begun never do.
// A function that returns it has failed with it.
var ErrExitActor = errors.New("the actor ends itself")

// noRetry marks an error.
type noRetry struct{ error }

func (e noRetry) Unwrap() error { return e.error }

// NoRetry marks an error that a retry would not mend: the call is not tried again, whatever its retries are. It returns nil for nil.
func NoRetry(err error) error {
	if err == nil {
		return nil
	}
	return noRetry{err}
}

// panicked is a panic of a call.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprint(p.value) }

// What stands in a stack around the function that has panicked: what has recovered is above it, and what has called it below.
const (
	abovePanic = "\npanic("
	belowCall  = "\nreflect.Value.call("
	ourCall    = "/core/worker.(*callable).call("
)

// recovered returns the error for a value that recover has given. It is called in the deferred function.
func recovered(v any) error {
	stack := string(debug.Stack())
	head, _, _ := strings.Cut(stack, "\n")
	if at := strings.Index(stack, abovePanic); at >= 0 {
		stack = stack[at+1:]
		if lines := strings.SplitN(stack, "\n", 3); len(lines) == 3 {
			stack = lines[2]
		}
	}
	if at := strings.LastIndex(stack, ourCall); at >= 0 {
		if at = strings.LastIndex(stack[:at], belowCall); at >= 0 {
			stack = stack[:at]
		}
	}
	return &panicked{v, head + "\n" + stack}
}

// unsendable is an error about what a call has returned.
type unsendable struct{ error }

func (e unsendable) Unwrap() error { return e.error }

// refused is an error of the worker itself about a call that did not begin: another name, other arguments.
type refused struct{ error }

func (e refused) Unwrap() error { return e.error }

// origin is where an error comes from.
func (s *server) origin(name string) crosslanguage.Origin {
	o := crosslanguage.Origin{Function: name, Pid: os.Getpid(), Address: s.address, Program: s.program}
	if h := s.host; h != nil {
		o.ActorID, o.Actor = h.id.String(), h.class.name
	}
	return o
}

// failure is the value that stands for a failed call.
func (s *server) failure(name string, err error) client.Value {
	return client.Value{Fmt: client.FmtError, Meta: s.encoded(name, err)}
}

func (s *server) encoded(name string, err error) []byte {
	class, stack := describe(err)
	return crosslanguage.Encode(s.origin(name), class, err.Error(), stack)
}

// describe says in one word what an error is, and gives its stack if it has one.
func describe(err error) (class, stack string) {
	var p *panicked
	switch {
	case errors.As(err, &p):
		return "panic", p.stack
	case errors.As(err, new(refused)):
		return "refused", ""
	case errors.As(err, new(unsendable)):
		return "result", ""
	}
	if long := fmt.Sprintf("%+v", err); long != err.Error() { // of libraries whose errors know their stack
		return "error", long
	}
	return "error", ""
}

// failureIn returns the value of an envelope that stands for a failure.
func failureIn(envelope []byte) (v client.Value, failed bool) {
	e, err := store.Parse(envelope)
	if err != nil || e.Format != store.FormatError && e.Format != store.FormatFault {
		return v, false
	}
	return client.Value{Fmt: uint8(e.Format), Meta: bytes.Clone(e.Meta)}, true
}

// gaveUp reports whether a call that was cancelled has ended because of that.
func gaveUp(ctx context.Context, err error) bool { return ctx.Err() != nil && err != nil }
