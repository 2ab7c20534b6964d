package pipes

import (
	"context"
	"net"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Network opens streams to other nodes. Its implementation promises:
//
//   - What is written arrives completely and in order, and then the end, if the writer calls Close.
//   - A stream breaks by itself only when the other node is dead.
//   - After a Write has failed, Read gives what had arrived before and then an error.
type Network interface {
	// Open opens a stream to a process, or to the daemon, of the node that the target's id names.
	// There it is given to Far. Open waits as long as the node may be alive. An error means that no
	// such node lives, or that the context has ended.
	Open(ctx context.Context, target ids.Owner) (net.Conn, error)
}

// Passer is a stream that can give bytes that arrive to a function, on the goroutine that has received them, while somebody waits in
// Read. The function does not wait. It returns how many bytes it has taken; Read returns the others.
type Passer interface {
	PassTo(take func([]byte) int)
}

// Here is the node that the ends of pipes are on. Its methods may take the daemon's lock.
type Here interface {
	// Socket returns the path at which a process of this node listens. It returns false when the
	// process has ended, or has never been.
	Socket(o ids.Owner) (path string, ok bool)
	// Page returns what the process needs that has the lease: the descriptor of the page on which the worker of a
	// guest's lease notes the tasks that it begins, which the caller closes, and the worker's slot there. It returns
	// slot 0 and -1 if there is no such lease, or no page for it. After an error another attempt may succeed.
	Page(guest ids.Owner, lease uint64) (slot, page int, err error)
	// Guest makes a process of another node a client of this node's daemon, and answers its hello.
	// The daemon closes the stream, also if it returns an error.
	Guest(stream net.Conn, h *wire.Hello) error
}
