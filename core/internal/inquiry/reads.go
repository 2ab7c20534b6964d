package inquiry

import (
	"context"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
)

// Reads are the questions to the head that change nothing. Each may wait until its context ends,
// so nobody asks while he holds a lock or reads a connection. An error means that there is no
// answer, except for record.ErrNotFound, which is one. An empty result without an error says that
// the cluster has nothing.
type Reads interface {
	GroupReads

	Actor(ctx context.Context, id ids.Actor) (record.Actor, error)
	// ActorsOf returns the actors that match, in order of registration and without Spec and Meta.
	ActorsOf(ctx context.Context, f record.ActorFilter) ([]record.Actor, error)
	// GetNamed returns the live actor with the name.
	GetNamed(ctx context.Context, namespace, name string) (record.Actor, error)
	ListNamed(ctx context.Context, namespace string, all bool) ([]record.Named, error)
	Nodes(ctx context.Context) ([]record.Node, error)
	Jobs(ctx context.Context) ([]record.Job, error)
	GetKV(ctx context.Context, namespace, key string) (value []byte, found bool, err error)
	KVKeys(ctx context.Context, namespace, prefix string) ([]string, error)
	// Code returns what is kept of a class from an offset on, and the size of the whole.
	Code(ctx context.Context, object ids.Object, offset uint64) (data []byte, size uint64, found bool, err error)
	// Sizes are how many entries the head's tables have, by name.
	Sizes(ctx context.Context) (map[string]int, error)
}
