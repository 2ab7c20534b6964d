package pulls

import (
	"context"
	"errors"
	"slices"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// An object of more than manyFrom bytes is read over several bulk connections: at least fewStreams, at most mostStreams, and one
// for each holder. From a holder that pulls the object itself it is read over one, because chunks that share the way
// arrive later, and so each node of a chain would begin later.
const (
	manyFrom    = 4 * chunkSize
	fewStreams  = 2
	mostStreams = 4
)

// streamsFor returns how many streams read an object.
func streamsFor(size uint64, holders int, begun bool, missing int) int {
	n := holders
	if size > manyFrom && !begun {
		n = max(n, fewStreams)
	}
	return min(n, mostStreams, missing)
}

// read begins to read chunks from the holders.
func (x *pull) read() {
	x.stage, x.err, x.chunks.came, x.failed = reading, nil, 0, nil
	x.ctx, x.cancel = context.WithCancel(x.p.ctx)
	x.whole, x.enough = context.WithCancel(x.ctx)
	if x.chunks.missing == 0 {
		x.complete()
		return
	}
	for i := range streamsFor(x.size, len(x.holders), x.begun, x.chunks.missing) {
		s := &stream{x: x, first: i, version: x.version, room: *x.room}
		x.streams = append(x.streams, s)
	}
	for _, s := range x.streams {
		x.p.run(s.run)
	}
}

// complete gives the object to the store.
func (x *pull) complete() {
	if err := x.p.o.Store.SealReplica(x, x.id); err == nil { // else a process of this node writes it
		x.p.held[x.id] = &held{version: x.version, replica: true}
		x.placed = false
		x.p.tellOwner(linkmsg.ObjectHas, x.id, x.version)
	}
	x.end(nil)
}

// streamEnded goes on when a stream has ended.
func (x *pull) streamEnded(s *stream, err error) {
	x.streams = slices.DeleteFunc(x.streams, func(o *stream) bool { return o == s })
	if s.cut != nil {
		s.cut()
	}
	if err != nil && (x.err == nil || errors.Is(err, errAbsent)) {
		x.err = err
	}
	switch {
	case len(x.streams) > 0:
	case x.stage == ending:
		x.leave()
	case x.chunks.missing == 0:
		x.complete()
	default:
		x.p.o.Log.Info("an object could not be read from another node", "object", x.id.String(), "nodes", x.holders, "error", x.err)
		if x.falls++; x.chunks.came > 0 {
			x.falls = 0
		}
		x.cancel()
		x.fell = true
		x.ask()
	}
}

// failedWith reports whether the last attempt could not read from the node.
func (x *pull) failedWith(node uint32) bool {
	return slices.ContainsFunc(x.failed, func(f linkmsg.HolderFailure) bool { return f.Node == node })
}

// cut ends the streams that read from a node.
func (x *pull) cut(node uint32) {
	for _, s := range x.streams {
		if s.node == node {
			s.cut()
		}
	}
}
