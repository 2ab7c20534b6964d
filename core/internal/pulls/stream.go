package pulls

import (
	"context"
	"errors"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// Two streams read an object of more than manyFrom bytes.
const (
	manyFrom    = 4 * chunkSize
	manyStreams = 2
)

// read begins to read chunks from the holder.
func (x *pull) read() {
	x.stage, x.err, x.chunks.came = reading, nil, 0
	x.ctx, x.cancel = context.WithCancel(x.p.ctx)
	x.dial, x.enough = context.WithCancel(x.ctx)
	n := 1
	if x.size > manyFrom {
		n = manyStreams
	}
	if x.chunks.missing == 0 {
		x.complete()
		return
	}
	x.streams = n
	s := &stream{x: x, ctx: x.ctx, dial: x.dial, node: x.holder, version: x.version, room: *x.room}
	for range n {
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
func (x *pull) streamEnded(err error) {
	x.streams--
	if x.err == nil || errors.Is(err, errAbsent) {
		x.err = err
	}
	switch {
	case x.streams > 0:
	case x.stage == ending:
		x.leave()
	case x.chunks.missing == 0:
		x.complete()
	default:
		x.p.o.Log.Info("an object could not be read from another node", "object", x.id.String(), "node", x.holder, "error", x.err)
		if x.falls++; x.chunks.came > 0 {
			x.falls = 0
		}
		x.cancel()
		x.fell, x.failed, x.absent = true, x.holder, errors.Is(x.err, errAbsent)
		x.ask()
	}
}

// stream reads chunks of an object from one node over one connection.
type stream struct {
	x       *pull
	ctx     context.Context
	dial    context.Context
	node    uint32
	version uint64
	room    room
}

func (s *stream) run() {
	err := s.transfer()
	s.x.p.locked(func() { s.x.streamEnded(err) })
}

// transfer reads chunks until none is left. A connection that was idle may have ended at the other end.
func (s *stream) transfer() error {
	for {
		b, err := s.x.p.conns.get(s.dial, s.node)
		if err != nil {
			return err
		}
		used := b.used
		n, err := s.readOver(b)
		if err == nil || n > 0 || !used || s.ctx.Err() != nil || errors.Is(err, errAbsent) {
			return err
		}
	}
}

// readOver reads chunks over a connection. While one comes, the next is asked for. It returns how many have come.
func (s *stream) readOver(b *bulk) (n int, err error) {
	alive := context.AfterFunc(s.ctx, func() { b.Close() })
	var asked []request
	defer func() {
		if alive() && err == nil {
			s.x.p.conns.put(s.node, b)
			return
		}
		b.Close()
		s.giveBack(asked)
	}()
	for more := true; ; {
		for more && len(asked) < 2 {
			q, ok := s.take()
			if more = ok; !ok {
				break
			}
			asked = append(asked, q)
			if _, err := b.Write(q.append(nil)); err != nil {
				return n, err
			}
		}
		if len(asked) == 0 {
			_, err := b.Write((&request{kind: askRelease, id: s.x.id, version: s.version}).append(nil))
			return n, err
		}
		if err := s.room.answer(b.in, &asked[0]); err != nil {
			return n, err
		}
		s.arrived(asked[0])
		asked = asked[1:]
		n++
	}
}

// take returns a chunk that nobody has asked for.
func (s *stream) take() (q request, ok bool) {
	s.x.p.locked(func() {
		var i int
		if i, ok = s.x.chunks.take(); ok {
			off := uint64(i) * chunkSize
			q = request{kind: askChunk, id: s.x.id, version: s.version, off: off, n: uint32(min(chunkSize, s.x.size-off))}
		}
	})
	return q, ok
}

// arrived notes that a chunk has come.
func (s *stream) arrived(q request) {
	s.x.p.locked(func() {
		s.x.chunks.arrived(int(q.off / chunkSize))
		s.x.wake()
		if s.x.chunks.missing == 0 {
			s.x.enough()
		}
	})
}

// giveBack notes that chunks that were asked for will not come.
func (s *stream) giveBack(asked []request) {
	s.x.p.locked(func() {
		for _, q := range asked {
			s.x.chunks.giveBack(int(q.off / chunkSize))
		}
	})
}
