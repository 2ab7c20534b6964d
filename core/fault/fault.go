package fault

import (
	"context"
	"errors"
	"fmt"
)

// Code names one kind of failure on the wire. Codes are never reused.
type Code string

// The codes and the Python exception that each becomes.
const (
	Internal           Code = "internal"            // RaySystemError
	BadRequest         Code = "bad_request"         // ValueError
	NotFound           Code = "not_found"           // ValueError
	AlreadyExists      Code = "already_exists"      // ActorAlreadyExistsError
	TaskUnschedulable  Code = "task_unschedulable"  // TaskUnschedulableError
	ActorUnschedulable Code = "actor_unschedulable" // ActorUnschedulableError
	NodeBusy           Code = "node_busy"           // TaskUnschedulableError: for this call only, the node that it names had no room
	WorkerCrashed      Code = "worker_crashed"      // WorkerCrashedError
	NodeDied           Code = "node_died"           // NodeDiedError
	ActorDied          Code = "actor_died"          // ActorDiedError
	ActorUnavailable   Code = "actor_unavailable"   // ActorUnavailableError
	TaskCancelled      Code = "task_cancelled"      // TaskCancelledError
	ObjectLost         Code = "object_lost"         // ObjectLostError
	OwnerDied          Code = "owner_died"          // OwnerDiedError
	ObjectFreed        Code = "object_freed"        // ObjectFreedError

	// Lost, and not to be computed again: ObjectReconstructionFailedError with the reason.
	LostPut        Code = "lost_put"              // put() made it, no task
	LostEvicted    Code = "lost_lineage_evicted"  // its lineage took too much memory
	LostExhausted  Code = "lost_max_attempts"     // its task has used its retries up
	LostNoRetries  Code = "lost_retries_disabled" // its task has none
	LostLineageOff Code = "lost_lineage_disabled"
	LostBorrowed   Code = "lost_borrowed" // another process owned it, and has let go of it

	// Interrupted is not seen by programs: a signal's handler has raised an exception, which is what they get.
	Interrupted Code = "interrupted"

	StoreFull          Code = "store_full"            // ObjectStoreFullError
	OutOfMemory        Code = "out_of_memory"         // OutOfMemoryError
	GPUMemoryExceeded  Code = "gpu_memory_exceeded"   // GpuMemoryExceededError
	RuntimeEnvSetup    Code = "runtime_env_setup"     // RuntimeEnvSetupError
	DaemonDied         Code = "daemon_died"           // LocalRayletDiedError
	PendingCallsLimit  Code = "pending_calls_limit"   // PendingCallsLimitExceeded
	Closed             Code = "closed"                // RaySystemError: used after shutdown
	VersionMismatch    Code = "version_mismatch"      // RaySystemError
	HeadUnavailable    Code = "head_unavailable"      // RaySystemError: the head of the cluster does not answer, nothing was changed
	MayHaveBeenApplied Code = "may_have_been_applied" // RaySystemError: the answer was lost, the effect perhaps not
	StreamInconsistent Code = "stream_inconsistent"   // StreamingGeneratorReplayInconsistentError
	EndOfStream        Code = "end_of_stream"         // ObjectRefStreamEndOfStreamError
	OutOfDisk          Code = "out_of_disk"           // OutOfDiskError

	PlacementGroupRemoved       Code = "placement_group_removed"       // TaskPlacementGroupRemoved; of an actor ActorPlacementGroupRemoved
	PlacementGroupUnschedulable Code = "placement_group_unschedulable" // PlacementGroupUnschedulableError

	// What CodeOf says of errors that never cross a socket.
	DeadlineExceeded Code = "deadline_exceeded" // context.DeadlineExceeded
	Canceled         Code = "canceled"          // context.Canceled: the caller gave up, see TaskCancelled for a task that was cancelled
	Exception        Code = "exception"         // a Python function raised it
	NoCluster        Code = "no_cluster"        // a Go program found none to connect to
	TypeMismatch     Code = "type_mismatch"     // a Python value does not fit the Go type that was asked for
	NotPlain         Code = "not_plain"         // a Python value has no form in Go
	VersionConflict  Code = "version_conflict"  // a key has another version than the program expected
	TooLarge         Code = "too_large"         // a key, a value, a list of keys or the key-value store
	Compacted        Code = "compacted"         // the changes that a watch asks for are no longer kept
	LeaseLost        Code = "lease_lost"        // a lease of keys has ended
)

// Error is a failure that can cross a socket.
type Error struct {
	Code    Code
	Message string
	Task    string // the task that never ran because an argument of it has this fault
}

// Error returns the message, which names the thing and what was wrong.
func (e *Error) Error() string { return e.Message }

// New returns a fault with a formatted message.
func New(c Code, format string, a ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, a...)}
}

// Is reports whether target is a Kind that has the fault's code among its own,
// so errors.Is finds sentinels.
func (e *Error) Is(target error) bool {
	k, ok := target.(*Kind)
	return ok && k.Has(e.Code)
}

// From returns err as a fault, Internal when it carries no code.
func From(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return &Error{Code: f.Code, Message: err.Error(), Task: f.Task}
	}
	return &Error{Code: Internal, Message: err.Error()}
}

// Coder is an error that knows its code and is no *Error.
type Coder interface {
	error
	FaultCode() Code
}

// CodeOf returns the code of err, "" for nil and Internal for an error that no
// code describes.
func CodeOf(err error) Code {
	var f *Error
	var c Coder
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f):
		return f.Code
	case errors.As(err, &c):
		return c.FaultCode()
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Internal
}
