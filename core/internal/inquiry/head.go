package inquiry

import (
	"context"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Head is the cluster's state and the management of actors, as a node needs it. *head.Head has these methods; a head
// in another process is behind a link.
type Head interface {
	Reads
	KeyStore
	Groups

	// Changes wait until they are committed. When nobody knows whether a change was made, because
	// its answer is missing, the error is record.ErrMayHaveBeenApplied.

	CreateActor(ctx context.Context, a record.Actor) error
	KillActor(ctx context.Context, id ids.Actor, noRestart bool) error
	RegisterNode(ctx context.Context, n record.Node) error
	// DrainNode returns why it is refused, "" if it is not.
	DrainNode(ctx context.Context, id ids.Node, d record.Drain, left time.Duration) (refused string, err error)
	StartJob(ctx context.Context, j record.Job) (ids.Job, error)
	PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (added bool, err error)
	DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error)
	PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (have uint64, err error)

	// Resolve and Ended do not wait for the head. They call done once, perhaps before they
	// return, unless they are cancelled: with the answer, whenever it is known, or with the reason why none
	// will come. That is record.ErrNotFound, or that the head cannot be reached. Done must not wait.
	// Cancel reports false when done was called or is about to be.

	// Resolve asks for an address of an incarnation after the given one, or why there is none. An actor that is
	// unknown may become known within the patience.
	Resolve(id ids.Actor, after uint64, patience time.Duration, done func(record.Resolution, error)) (cancel func() bool)
	// Ended asks what became of the actor when the incarnation has ended.
	Ended(id ids.Actor, incarnation uint64, done func(record.Resolution, error)) (cancel func() bool)

	// Reports never wait, and are not lost while the head cannot be reached.

	ActorPlaced(i record.Instance)
	ActorStarted(i record.Instance)
	ActorStartFailed(i record.Instance, c record.Cause)
	ActorWorkerDied(i record.Instance, c record.Cause)
	ActorExited(i record.Instance, c record.Cause)
	ActorInfeasible(i record.Instance, message string)
	ReleaseActor(id ids.Actor)
	DropCode(id ids.Actor)
	// OwnerDied tells of processes that have asked for the registration of an actor, and of no others.
	OwnerDied(o ids.Owner)
	EndJob(id ids.Job, s record.JobState, message string)
}
