package linkmsg

import (
	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Kind says what a report or an order is about.
type Kind string

// The reports of a node, with their bodies.
const (
	ActorPlaced      Kind = "placed"       // InstanceTold
	ActorStarted     Kind = "started"      // InstanceTold
	ActorKept        Kind = "kept"         // InstanceTold: the node has it, and the head is another process than before
	ActorStartFailed Kind = "start_failed" // InstanceTold
	ActorWorkerDied  Kind = "worker_died"  // InstanceTold
	ActorExited      Kind = "exited"       // InstanceTold
	ActorInfeasible  Kind = "infeasible"   // InstanceTold, with Message
	ActorRefused     Kind = "refused"      // InstanceTold, with Ticket
	ActorReleased    Kind = "released"     // ActorRef
	ClassDropped     Kind = "class_drop"   // ActorRef
	OwnerDied        Kind = "owner_died"   // Owner
	JobEnded         Kind = "job_ended"    // JobEnd
)

// The orders of the head, with their bodies.
const (
	StartActor    Kind = "start"    // Start
	StopActor     Kind = "stop"     // Stop
	WithdrawActor Kind = "withdraw" // Withdraw
	EndActor      Kind = "end"      // Stop, and the report ActorExited follows when the process is gone
)

// Told is a report or an order. Each side numbers what it tells, without gaps.
type Told struct {
	N    uint64             `msgpack:"n"`
	Kind Kind               `msgpack:"kind"`
	Body msgpack.RawMessage `msgpack:"body"`
}

// InstanceTold tells of one incarnation of an actor.
type InstanceTold struct {
	Instance record.Instance `msgpack:"inst"`
	Cause    record.Cause    `msgpack:"cause"`
	Message  string          `msgpack:"msg"`
	Ticket   uint64          `msgpack:"ticket"` // of the order
}

// Start has a node start an incarnation of an actor. The node settles the ticket when it has taken what the actor needs.
type Start struct {
	Actor  record.Actor `msgpack:"actor"`
	Ticket uint64       `msgpack:"ticket"`
}

// Withdraw asks a node to refuse an actor that it was told to start, if the actor still waits there.
type Withdraw struct {
	Instance record.Instance `msgpack:"inst"`
	Ticket   uint64          `msgpack:"ticket"`
}

// Owner names a process that owns objects or actors.
type Owner struct {
	ID ids.Owner `msgpack:"id"`
}

// JobEnd tells that a job is over.
type JobEnd struct {
	ID      ids.Job         `msgpack:"id"`
	State   record.JobState `msgpack:"state"`
	Message string          `msgpack:"msg"`
}

// Stop ends an incarnation of an actor: at once, or after the calls that have arrived.
type Stop struct {
	Instance record.Instance `msgpack:"inst"`
	Drain    bool            `msgpack:"drain"`
}

// News are records of the cluster as they are now. On a new connection the head sends all of them, and then each that
// changes.
type News struct {
	Nodes []record.Node `msgpack:"nodes"`
	Jobs  []record.Job  `msgpack:"jobs"`
}
