package daemon

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Head is the cluster's state and the management of actors, as the node role
// needs it. *head.Head has these methods, but for Resolve and Ended, whose
// results cmd turns into ours. Requests may block for as long as a commit takes; reports
// never do.
type Head interface {
	CreateActor(ctx context.Context, a record.Actor) error
	KillActor(ctx context.Context, id ids.Actor, noRestart bool) error
	Actor(id ids.Actor) (record.Actor, error)
	ListActors(match func(*record.Actor) bool) []record.Actor
	GetNamed(namespace, name string) (record.Actor, error)
	ListNamed(namespace string, all bool) []record.Named
	RegisterNode(ctx context.Context, n record.Node) error
	Nodes() []record.Node
	StartJob(ctx context.Context, j record.Job) (ids.Job, error)
	Jobs() []record.Job
	PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (added bool, err error)
	GetKV(namespace, key string) ([]byte, bool)
	DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error)
	KVKeys(namespace, prefix string) []string
	PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (have uint64, err error)
	Code(object ids.Object, offset uint64) (data []byte, size uint64, ok bool)

	// Resolve calls done once, perhaps before it returns, unless cancelled.
	Resolve(id ids.Actor, after uint64, done func(Resolution)) (cancel func(), err error)
	// Ended does when the incarnation has ended.
	Ended(id ids.Actor, incarnation uint64, done func(Resolution)) (cancel func(), err error)
	// Sizes are how many entries the tables have, by name.
	Sizes() map[string]int

	// Reports.
	ActorPlaced(i record.Instance)
	ActorStarted(i record.Instance)
	ActorStartFailed(i record.Instance, c record.Cause)
	ActorWorkerDied(i record.Instance, c record.Cause)
	ActorExited(i record.Instance, c record.Cause)
	ActorInfeasible(i record.Instance, message string)
	ReleaseActor(id ids.Actor)
	DropCode(id ids.Actor)
	OwnerDied(o ids.Owner)
	EndJob(id ids.Job, s record.JobState, message string)
}

// Resolution is an actor's fate: State as in wire.ActorState.
type Resolution struct {
	State   string
	Actor   record.Actor
	Message string
}
