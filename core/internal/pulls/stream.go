package pulls

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
)

// stream reads chunks of an object. It reads from one of the pull's holders, and goes on with the next one when it cannot.
type stream struct {
	x       *pull
	first   int // the index of the holder with which it begins
	version uint64
	room    room

	// The lock guards what follows.
	node   uint32             // from which it reads; 0: none
	cut    context.CancelFunc // ends its connection to that node
	since  time.Time          // when it has begun to wait for the chunk that comes next
	slow   bool               // its holder is too slow: it ends
	pacing time.Duration      // how long its last chunk took
}

// run reads until the pull has all chunks, or no holder is left.
func (s *stream) run() {
	var err error
	for i := range s.x.holders {
		node := s.x.holders[(s.first+i)%len(s.x.holders)]
		ctx, ok := s.begin(node)
		if !ok {
			break
		}
		if err = s.transfer(ctx, node); err == nil || s.x.whole.Err() != nil {
			break
		}
		s.failed(node, err)
	}
	s.x.p.locked(func() { s.x.streamEnded(s, err) })
}

// begin notes from which node the stream reads now.
func (s *stream) begin(node uint32) (ctx context.Context, ok bool) {
	s.x.p.locked(func() {
		if ok = s.x.ctx.Err() == nil && !s.slow; ok {
			ctx, s.cut = context.WithCancel(s.x.ctx)
			s.node = node
		}
	})
	return ctx, ok
}

// failed notes that a holder could not be read from.
func (s *stream) failed(node uint32, err error) {
	s.x.p.locked(func() {
		s.cut()
		s.node = 0
		if s.x.ctx.Err() != nil {
			return // the pull has ended
		}
		absent := errors.Is(err, errAbsent)
		if i := slices.IndexFunc(s.x.failed, func(f linkmsg.HolderFailure) bool { return f.Node == node }); i >= 0 {
			s.x.failed[i].Absent = s.x.failed[i].Absent || absent
			return
		}
		s.x.failed = append(s.x.failed, linkmsg.HolderFailure{Node: node, Absent: absent})
	})
}

// transfer reads chunks until none is left. A connection that was idle may have ended at the other end.
func (s *stream) transfer(ctx context.Context, node uint32) error {
	dial, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.x.whole, cancel)()
	for {
		b, err := s.x.p.conns.get(dial, node)
		if err != nil {
			return err
		}
		used := b.used
		n, err := s.readOver(ctx, node, b)
		if err == nil || n > 0 || !used || ctx.Err() != nil || errors.Is(err, errAbsent) {
			return err
		}
	}
}

// readOver reads chunks over a connection. While one comes, the next is asked for. It returns how many have come.
func (s *stream) readOver(ctx context.Context, node uint32, b *bulk) (n int, err error) {
	alive := context.AfterFunc(ctx, func() { b.Close() })
	var asked []request
	defer func() {
		if alive() && err == nil {
			s.x.p.conns.put(node, b)
			return
		}
		b.Close()
		s.giveBack(asked)
	}()
	for {
		for len(asked) < 2 {
			q, ok := s.take()
			if !ok {
				break
			}
			asked = append(asked, q)
			if _, err := b.Write(q.append(nil)); err != nil {
				return n, err
			}
		}
		if len(asked) == 0 {
			if s.awaitWork(ctx) {
				continue
			}
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
			if s.since.IsZero() {
				s.since = time.Now()
			}
		}
	})
	return q, ok
}

// arrived notes that a chunk has come.
func (s *stream) arrived(q request) {
	s.x.p.locked(func() {
		now := time.Now()
		s.pacing, s.since = now.Sub(s.since), now
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
		s.since = time.Time{}
		s.x.wake()
	})
}

// slowTimes is how much longer than its own last chunk another stream's chunk may take before a stream that has nothing to do
// takes that one over.
const slowTimes = 3

// awaitWork waits until there is a chunk to ask for. It returns false when all have come, or the stream is to end.
func (s *stream) awaitWork(ctx context.Context) bool {
	timer := time.NewTimer(s.x.p.times.slowFrom)
	defer timer.Stop()
	for {
		news, more, done := s.look()
		if more || done {
			return more
		}
		select {
		case <-news:
		case <-timer.C:
			timer.Reset(s.cutSlow())
		case <-ctx.Done():
			return false
		}
	}
}

// look reports whether there is a chunk to ask for, or whether all have come.
func (s *stream) look() (news <-chan struct{}, more, done bool) {
	done = true // after Close
	s.x.p.locked(func() {
		s.since = time.Time{}
		news, more, done = s.x.news, s.x.chunks.waits(), s.x.chunks.missing == 0 || s.x.stage != reading
	})
	return news, more, done
}

// cutSlow ends a stream that reads from another holder and is much slower than this one. It returns when to look again.
func (s *stream) cutSlow() time.Duration {
	s.x.p.locked(func() {
		bound := max(s.x.p.times.slowFrom, slowTimes*s.pacing)
		for _, o := range s.x.streams {
			if o.node != 0 && o.node != s.node && !o.since.IsZero() && time.Since(o.since) > bound {
				o.slow = true
				o.cut()
				return
			}
		}
	})
	return s.x.p.times.slowFrom / 4
}
