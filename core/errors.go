package core

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/crosslanguage"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/value"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Sentinels: errors.Is(err, core.ErrActorDied) and so on. Besides these, a call whose
// context ended returns an error that wraps context.DeadlineExceeded or context.Canceled,
// and an exception of Python code is a *RemoteError.
var (
	// ErrNoCluster: Connect found no cluster to connect to, or one whose daemon is gone.
	ErrNoCluster error = fault.NewKind("no local cluster is running: start one with `eagleray start --head`, or set RAY_ADDRESS", fault.NoCluster)
	// ErrClosed: the session was closed.
	ErrClosed error = fault.NewKind("the session is closed", fault.Closed)
	// ErrDaemonDied: the cluster's daemon ended while the session used it.
	ErrDaemonDied error = fault.NewKind("the cluster's daemon is gone", fault.DaemonDied)
	// ErrHeadUnavailable: the head of the cluster did not answer in time. Nothing was changed.
	ErrHeadUnavailable error = fault.NewKind("the head of the cluster does not answer", fault.HeadUnavailable)
	// ErrInvalid: an argument or an option is wrong; the message says which and why.
	ErrInvalid error = fault.NewKind("invalid argument", fault.BadRequest)
	// ErrNotFound: there is no actor of that name, or this session does not know the actor; a key is not there.
	ErrNotFound error = fault.NewKind("not found", fault.NotFound)
	// ErrAlreadyExists: the name of an actor is taken.
	ErrAlreadyExists error = fault.NewKind("already exists", fault.AlreadyExists)
	// ErrUnschedulable: no node has what the function or actor asks for.
	ErrUnschedulable error = fault.NewKind("the resources can never be had", fault.TaskUnschedulable, fault.ActorUnschedulable)
	// ErrWorkerCrashed: the process that ran the function ended, and the retries are used up.
	ErrWorkerCrashed error = fault.NewKind("the worker crashed", fault.WorkerCrashed)
	// ErrActorDied: the actor has ended; errors.As gives a *RemoteError when its constructor raised an exception.
	ErrActorDied error = fault.NewKind("the actor has died", fault.ActorDied)
	// ErrActorUnavailable: the actor's process ended during the call, which is not repeated.
	ErrActorUnavailable error = fault.NewKind("the actor is not available", fault.ActorUnavailable)
	// ErrTaskCancelled: Cancel ended the task.
	ErrTaskCancelled error = fault.NewKind("the task was cancelled", fault.TaskCancelled)
	// ErrObjectLost: the value is gone and could not be computed again.
	ErrObjectLost error = fault.NewKind("the value is lost", fault.ObjectLost, fault.OwnerDied, fault.ObjectFreed, fault.LostPut, fault.LostEvicted,
		fault.LostExhausted, fault.LostNoRetries, fault.LostLineageOff, fault.LostBorrowed)
	// ErrStoreFull: shared memory, or the disk behind it, has no room for the value.
	ErrStoreFull error = fault.NewKind("the object store is full", fault.StoreFull, fault.OutOfDisk)
	// ErrOutOfMemory: a worker was ended because the machine, or its share of a GPU, ran out of memory.
	ErrOutOfMemory error = fault.NewKind("out of memory", fault.OutOfMemory, fault.GPUMemoryExceeded)
	// ErrEnvironment: the workers' interpreter or runtime environment cannot be had.
	ErrEnvironment error = fault.NewKind("the workers' environment cannot be made", fault.RuntimeEnvSetup)
	// ErrPendingCalls: the actor has as many calls pending as it allows.
	ErrPendingCalls error = fault.NewKind("too many calls are pending", fault.PendingCallsLimit)
	// ErrMayHaveBeenApplied: the answer to a change was lost, and nobody knows whether the change was made. Look before you try again.
	ErrMayHaveBeenApplied error = fault.NewKind("the change may have been made", fault.MayHaveBeenApplied)
	// ErrVersionConflict: a key has another version than CompareAndSwap or CompareAndDelete expected. The error is a *ConflictError.
	ErrVersionConflict error = fault.NewKind("the key has another version", fault.VersionConflict)
	// ErrTooLarge: a key, a value or a list is larger than the key-value store allows, or the store is full. The message says what to do.
	ErrTooLarge error = fault.NewKind("too large for the key-value store", fault.TooLarge)
	// ErrCompacted: the changes that a Watch asks for are no longer kept. List the keys anew, and watch from there.
	ErrCompacted error = fault.NewKind("the changes are no longer kept", fault.Compacted)
	// ErrLeaseLost: a KVLease has ended, or its holder cannot know any more that it has not.
	ErrLeaseLost error = fault.NewKind("the lease is lost", fault.LeaseLost)
	// ErrCrossLanguage: Python code raised an exception. The error is a *RemoteError.
	ErrCrossLanguage error = fault.NewKind("code in another language failed", fault.Exception)
	// ErrType: a Python value does not fit the Go type that was asked for.
	ErrType = value.ErrType
	// ErrNotPlain: a Python value has no form in Go; convert it before it is returned.
	ErrNotPlain = store.ErrNotPlain
)

// Code names one kind of failure, more finely than the sentinels do.
type Code = fault.Code

// CodeOf returns the code of an error, "" for nil, and fault.Internal for one that no code describes.
func CodeOf(err error) Code { return fault.CodeOf(err) }

// RemoteError is an exception that Python code raised, or an error or a panic of a function of a Go worker program.
type RemoteError struct {
	Function  string // that raised it; "" when the constructor of a Python actor did
	Class     string // of the exception, without its module: "ValueError". Of Go: "error", "panic", or "refused" when it was not called
	Message   string // str() of the exception, or the text of the error
	Traceback string // as Python prints it; of Go: where it ran, the text, and for a panic the stack
	Language  string // "python" or "go"
}

// Error returns the function, the exception's class and its message. The traceback is in its own field.
func (e *RemoteError) Error() string {
	text := e.Class
	if e.Message != "" {
		text += ": " + e.Message
	}
	switch {
	case e.Language == "go":
		return e.Function + " failed (" + text + ")"
	case e.Function != "":
		return e.Function + " raised " + text
	}
	return text
}

// FaultCode says what CodeOf says of the error.
func (e *RemoteError) FaultCode() Code { return classCode(e.Class) }

// Is reports whether the exception is one of the runtime's own that the sentinel stands for.
func (e *RemoteError) Is(target error) bool {
	k, ok := target.(*fault.Kind)
	if target == ErrCrossLanguage {
		return e.Language != "go"
	}
	return ok && k.Has(classCode(e.Class))
}

// classCode returns the code of an exception's class: the runtime's own travel as exceptions, too.
func classCode(class string) Code {
	switch class {
	case "TaskCancelledError":
		return fault.TaskCancelled
	case "WorkerCrashedError":
		return fault.WorkerCrashed
	case "ActorDiedError", "RayActorError":
		return fault.ActorDied
	case "ActorUnavailableError":
		return fault.ActorUnavailable
	case "ObjectLostError", "ObjectReconstructionFailedError":
		return fault.ObjectLost
	case "OwnerDiedError":
		return fault.OwnerDied
	case "OutOfMemoryError":
		return fault.OutOfMemory
	case "GpuMemoryExceededError":
		return fault.GPUMemoryExceeded
	case "ObjectStoreFullError":
		return fault.StoreFull
	case "OutOfDiskError":
		return fault.OutOfDisk
	case "RuntimeEnvSetupError":
		return fault.RuntimeEnvSetup
	case "TaskUnschedulableError":
		return fault.TaskUnschedulable
	case "ActorUnschedulableError":
		return fault.ActorUnschedulable
	}
	return fault.Exception
}

// remoteError reads the head of a Python exception: a msgpack array of function, cause
// and traceback in front of the pickled exception, see python/eagleray/_private/task_error.py.
func remoteError(meta []byte) error {
	var head []any
	if wire.Check(meta, wire.MaxValues) != nil || msgpack.Unmarshal(meta, &head) != nil || len(head) < 4 {
		return &RemoteError{Class: "Exception", Message: "the Python function raised an exception whose description is damaged"}
	}
	text := func(i int) string { s, _ := head[i].(string); return s }
	e := &RemoteError{Function: text(0), Traceback: text(2), Language: "python"}
	e.Class, e.Message, _ = strings.Cut(text(1), ": ")
	rest, _ := head[len(head)-1].([]byte)
	if crosslanguage.IsGo(rest) {
		e.Language = "go"
	}
	if kind := string(rest[:min(len(rest), 40)]); e.Function == "" || strings.Contains(kind, "actor_init") {
		return &constructorError{e, "raised "}
	} else if strings.Contains(kind, "actor_lacks") { // its class, or an argument
		return &constructorError{e, "could not run: "}
	}
	return e
}

// constructorError is an actor's death because its constructor raised an
// exception, or could not run because of one.
type constructorError struct {
	cause *RemoteError
	what  string
}

func (e *constructorError) Error() string {
	return "the actor died because its constructor " + e.what + e.cause.Class + ": " + e.cause.Message
}
func (e *constructorError) Unwrap() error   { return e.cause }
func (e *constructorError) FaultCode() Code { return fault.ActorDied }
func (e *constructorError) Is(target error) bool {
	return target == ErrActorDied
}

// begin returns an error when a call cannot even begin: its context has ended.
func begin(ctx context.Context, what string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// inTime runs do, which may wait for the daemon, and gives up when the context ends. Then late
// is called with the result of do when do has returned.
func inTime[T any](ctx context.Context, what string, do func() (T, error), late func(T)) (v T, err error) {
	if ctx.Done() == nil {
		return do()
	}
	if err := begin(ctx, what); err != nil {
		return v, err
	}
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := do()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		go func() {
			if o := <-done; o.err == nil && late != nil {
				late(o.v)
			}
		}()
		return v, fmt.Errorf("%s: %w", what, ctx.Err())
	}
}

// invalid returns an error about an argument.
func invalid(format string, a ...any) error { return fault.New(fault.BadRequest, format, a...) }

var errNilRef = errors.New("the reference is nil")
