package head

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// State is the replicated state, as the head needs it. Changes return when
// they are committed and visible to the reads of this member; the errors are
// those of package record. Reads come from this member and share memory with
// it: never write to what they return.
//
// raftstate.Node has these methods.
type State interface {
	Actors
	Nodes
	Jobs
	Code
	Values
	Groups
	Keys
	Feed
}

// Actors are the actors' records. The state, not the head, refuses a change
// that comes too late: record.ErrStale when the incarnation is not the current
// one, record.ErrDead when the actor is dead, record.ErrNotFound.
type Actors interface {
	// RegisterActor adds a PENDING actor with incarnation 1. ErrExists when
	// the id is known, *NameTakenError when a live actor has the name,
	// ErrJobEnded for a non-detached actor of a job that is over.
	RegisterActor(ctx context.Context, a record.Actor) error
	// ActorPlaced notes the node that starts the instance.
	ActorPlaced(ctx context.Context, i record.Instance) error
	// ActorAlive notes that the instance takes calls. ErrStale too when
	// another worker already runs this incarnation.
	ActorAlive(ctx context.Context, i record.Instance, atMs int64) error
	// ActorRestarting makes the next incarnation after the given one, which ended.
	ActorRestarting(ctx context.Context, id ids.Actor, incarnation uint64, c record.Cause) error
	// ActorDead ends the actor for good and frees its name. Incarnation 0 is any.
	ActorDead(ctx context.Context, id ids.Actor, incarnation uint64, c record.Cause, atMs int64) error
	// ActorReleased notes that no handle is left. It does nothing to a detached actor.
	ActorReleased(ctx context.Context, id ids.Actor) error

	// Actor returns a record, perhaps without its large values.
	Actor(id ids.Actor) (record.Actor, bool)
	// ActorNamed finds the live actor with that name. The record may lack its large values.
	ActorNamed(namespace, name string) (record.Actor, bool)
	// WholeActor returns a record with its large values, which are read from a disk, perhaps that of another member.
	WholeActor(ctx context.Context, a record.Actor) (record.Actor, error)
	// ActorsOf returns the actors that match, in order of registration and without Spec and Meta.
	ActorsOf(f record.ActorFilter) []record.Actor
}

// Code are the large classes of detached actors. A class comes in parts, before
// the actor is registered, which then names its object in record.Actor.Code.
type Code interface {
	// PutCode brings a part, from the node of the actor's creator, and returns how many bytes of the class are there. A
	// part at another offset changes nothing.
	PutCode(ctx context.Context, node ids.Node, a ids.Actor, object ids.Object, size, offset uint64, data []byte) (have uint64, err error)
	// DropCode says that the actor will not be registered.
	DropCode(ctx context.Context, a ids.Actor) error
	// Code returns what is kept of a class from an offset on, up to the end of a
	// part, and the size of the whole; false while it is not there whole. A large part is read from a disk, perhaps that of another member.
	Code(ctx context.Context, object ids.Object, offset uint64) (data []byte, size uint64, ok bool, err error)
}

// Nodes are the nodes' records.
type Nodes interface {
	// RegisterNode adds a node or renews its record. ErrNodeDead when it was declared dead.
	RegisterNode(ctx context.Context, n record.Node) error
	// DrainNode says that a node gets no new work and leaves. ErrNotFound when it is not known; that it is dead is no error.
	DrainNode(ctx context.Context, id ids.Node, d record.Drain) error
	// NodeDead declares a node dead; once more is no error.
	NodeDead(ctx context.Context, id ids.Node, reason string, atMs int64) error

	Node(id ids.Node) (record.Node, bool)
	// ListNodes returns all nodes, dead ones too, in order of registration.
	ListNodes() []record.Node
}

// Jobs are the jobs' records.
type Jobs interface {
	// StartJob gives the job the next number.
	StartJob(ctx context.Context, j record.Job) (ids.Job, error)
	// EndJob ends a job; once more is no error.
	EndJob(ctx context.Context, id ids.Job, s record.JobState, message string, atMs int64) error

	Job(id ids.Job) (record.Job, bool)
	// ListJobs returns all jobs in order of their numbers.
	ListJobs() []record.Job
}

// Values are the internal key-value pairs and the cluster's settings.
type Values interface {
	// PutKV stores a value. It reports whether the key is new; without
	// overwrite an existing value stays.
	PutKV(ctx context.Context, namespace, key string, value []byte, overwrite bool) (added bool, err error)
	// DelKV deletes a key, or all keys that begin with it, and returns how many.
	DelKV(ctx context.Context, namespace, key string, prefix bool) (int, error)
	// GetKV returns a value. A large one is read from a disk, perhaps that of another member.
	GetKV(ctx context.Context, namespace, key string) ([]byte, bool, error)
	// KVKeys returns the keys that begin with prefix, in order.
	KVKeys(namespace, prefix string) []string

	PutSetting(ctx context.Context, name string, value []byte) error
	Setting(name string) ([]byte, bool)
}

// Groups are the records of placement groups.
type Groups interface {
	// CreateGroup adds a PENDING group. The errors are ErrExists, ErrNameTaken and ErrJobEnded.
	CreateGroup(ctx context.Context, g record.Group) error
	// PlaceGroup notes the nodes of all bundles of a group, which were found in an epoch. ErrStale when that has passed.
	PlaceGroup(ctx context.Context, id ids.Group, epoch uint64, nodes []ids.Node, atMs int64) error
	// RemoveGroup ends a group; once more is no error.
	RemoveGroup(ctx context.Context, id ids.Group, why string, atMs int64) error

	Group(id ids.Group) (record.Group, bool)
	GroupNamed(namespace, name string) (record.Group, bool)
	// ListGroups returns all groups, removed ones too, in the order in which they were made.
	ListGroups() []record.Group
}

// Feed is the stream of changes.
type Feed interface {
	// Now returns the place after the last event, with epoch 0, so that the
	// first Watch from it returns at once with the leadership.
	Now() record.Cursor
	// Watch waits until there is something after the cursor: events, or a
	// change of this member's leadership. ErrCompacted when the events are no
	// longer kept, ErrClosed after Close, the context's error.
	Watch(ctx context.Context, from record.Cursor) (record.Batch, error)
}
