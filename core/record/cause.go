package record

import "github.com/eagleray/eagleray/core/fault"

// Reason says in one word why an incarnation of an actor ended.
type Reason string

// The reasons.
const (
	Killed      Reason = "killed"        // kill()
	Released    Reason = "released"      // the last handle went
	Exited      Reason = "exited"        // exit_actor(), or its process ended with status 0
	WorkerDied  Reason = "worker_died"   // its process crashed or was killed from outside
	NodeDied    Reason = "node_died"     // the machine's daemon is gone
	OwnerDied   Reason = "owner_died"    // the process that created it is gone
	JobEnded    Reason = "job_ended"     // its job is over
	StartFailed Reason = "start_failed"  // its constructor raised; Cause.Error has the exception
	EnvFailed   Reason = "env_failed"    // its runtime environment could not be made
	OutOfMemory Reason = "oom"           // its worker was ended to save the node's memory
	GroupGone   Reason = "group_removed" // the placement group that it ran in was removed
	NodeBusy    Reason = "node_busy"     // the node that it had to run on had no room for it, and it did not want to wait
	GPUMemory   Reason = "gpu_memory"    // its worker held more of a GPU's memory than it had asked for
)

// Cause is why an actor died or restarts.
type Cause struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Reason  Reason `msgpack:"reason"`
	Message string `msgpack:"msg"`
	Error   []byte `msgpack:"err"` // envelope of the constructor's exception, opaque
}

// Fault returns the code that callers of the dead actor get.
func (c Cause) Fault() fault.Code {
	switch c.Reason {
	case EnvFailed:
		return fault.RuntimeEnvSetup
	case OutOfMemory:
		return fault.OutOfMemory
	case GPUMemory:
		return fault.GPUMemoryExceeded
	case NodeBusy:
		return fault.ActorUnschedulable
	case GroupGone:
		return fault.PlacementGroupRemoved
	}
	return fault.ActorDied
}

// WorkerGone reports whether the reason itself tells that the worker's process
// has ended or never started, so that nobody has to be asked to end it.
func (r Reason) WorkerGone() bool {
	switch r {
	case Killed, OwnerDied, JobEnded, GroupGone:
		return false
	}
	return true
}

// ProcessGone reports whether the node of the incarnation has seen its process end. A node that has fallen silent has not.
func (r Reason) ProcessGone() bool {
	switch r {
	case WorkerDied, OutOfMemory, GPUMemory:
		return true
	}
	return false
}

// String returns reason and message.
func (c Cause) String() string {
	if c.Message == "" {
		return string(c.Reason)
	}
	if c.Reason == "" {
		return c.Message
	}
	return string(c.Reason) + ": " + c.Message
}
