package pulls

import (
	"context"
	"log/slog"
	"net"
	"sync"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Network leads to the other nodes. When it has lost a node, NodeGone is called; until then it tries. If that node lives all the same,
// and they find each other again, Connected is called.
type Network interface {
	// Control returns the connection for messages to a node. It does not wait. What the node sends on its end is given to
	// Handle there, in order. The error says that the node is dead.
	Control(node uint32) (*wire.Peer, error)
	// Bulk connects to a node for chunks. There the connection is given to Serve. It waits while too many are in use.
	Bulk(ctx context.Context, node uint32) (net.Conn, error)
}

// Options describe a node.
type Options struct {
	Node    uint32         // its number
	Network Network        // nil: there are no other nodes
	Store   *objects.Store // of the node
	Bytes   uint64         // the size of the store's arena
	Lock    sync.Locker    // guards the store and Pulls
	// Lives reports whether a process of this node lives. The lock is held.
	Lives func(o ids.Owner) bool
	ID    ids.Node // of this node
	// NodeOf returns what is known of another node. The lock is held. It may be nil.
	NodeOf func(number uint32) (record.Node, bool)
	// Refused is told of messages that are refused, and why.
	Refused func(err error)
	Log     *slog.Logger
}

// Priority says how urgent a pull is. Of the pulls that wait, the one with the lowest Priority goes first.
type Priority uint8

// The priorities.
const (
	Get      Priority = iota // a program waits for the value
	Argument                 // a task waits for it, and the worker may run others meanwhile
	Prefetch                 // nobody waits
)

// Bounds of what is pulled at a time.
const (
	arenaShare = 4  // pulls take at most this part of the arena, unless one alone needs more
	atATime    = 16 // so many objects are pulled at a time
)
