package record

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// What the state answers when it refuses. Each is wrapped with the name of the
// thing, and carries the fault code that crosses the wire.
var (
	ErrNotFound  = fault.New(fault.NotFound, "not found")
	ErrNameTaken = fault.New(fault.AlreadyExists, "the name is taken")
	ErrExists    = fault.New(fault.AlreadyExists, "already registered")
	ErrDead      = fault.New(fault.ActorDied, "already dead")
	ErrStale     = fault.New(fault.BadRequest, "not the current incarnation")
	ErrJobEnded  = fault.New(fault.BadRequest, "the job has ended")
	ErrNodeDead  = fault.New(fault.BadRequest, "the node was declared dead")
	ErrInvalid   = fault.New(fault.BadRequest, "invalid")

	// ErrCompacted: the events asked for are no longer kept. Read the state
	// anew and watch from there.
	ErrCompacted = fault.New(fault.BadRequest, "the events asked for are no longer kept")

	// ErrClosed: used after Close.
	ErrClosed = fault.New(fault.Closed, "the cluster state is closed")

	// ErrMayHaveBeenApplied: the answer was lost, the effect perhaps not.
	ErrMayHaveBeenApplied = fault.New(fault.MayHaveBeenApplied, "the command may have been applied")
)

// NameTakenError says which live actor has the name. It is ErrNameTaken.
type NameTakenError struct {
	Namespace, Name string
	Existing        ids.Actor
}

// Error names the actor, as in Ray's message.
func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the name %q is taken in namespace %q by actor %s", e.Name, e.Namespace, e.Existing)
}

// Unwrap makes it ErrNameTaken.
func (e *NameTakenError) Unwrap() error { return ErrNameTaken }
