package pulls

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/patient"
)

// server serves another node on a bulk connection that it has dialed. It is the holder of the object that is being read.
type server struct {
	p    *Pulls
	from uint32
	conn net.Conn
	gone bool
	packing

	// The object that it has pinned, if any.
	pinned  bool
	id      ids.Object
	version uint64
	size    uint64
	room    room
	failure error // why the store did not give the object; nil: it did, or was not asked
}

// Gone implements objects.Holder.
func (s *server) Gone() bool { return s.gone }

// Serve answers the requests of another node on a bulk connection that it has dialed. It returns when the connection has ended.
func (p *Pulls) Serve(from uint32, c net.Conn) {
	defer c.Close()
	s := &server{p: p, from: from, conn: c}
	if !p.enlist(s) {
		return
	}
	defer p.running.Done()
	defer p.drop(s)
	both := patient.New(c, silence)
	in, out := bufio.NewReaderSize(both, 4<<10), bufio.NewWriterSize(both, 16<<10)
	for {
		err := s.serveOne(in, out)
		switch {
		case err == nil:
		case errors.Is(err, errFormat):
			p.o.Refused(fmt.Errorf("bulk connection of node %d: %w", from, err))
			return
		default: // the node has closed it
			return
		}
	}
}

// enlist enters a connection in the table. It returns false after Close.
func (p *Pulls) enlist(s *server) (ok bool) {
	p.locked(func() {
		ok = true
		p.running.Add(1)
		p.servers[s] = struct{}{}
	})
	return ok
}

func (p *Pulls) drop(s *server) {
	p.o.Lock.Lock()
	defer p.o.Lock.Unlock()
	s.gone = true
	delete(p.servers, s)
	p.o.Store.DropHolder(s, ids.Owner{})
}

// serveOne reads and answers one request.
func (s *server) serveOne(in *bufio.Reader, out *bufio.Writer) error {
	var b [requestSize]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return err
	}
	q, err := parseRequest(b[:])
	if err != nil {
		return err
	}
	if q.kind == askRelease {
		s.p.locked(s.unpin)
		return nil
	}
	if err := s.answer(out, &q); err != nil {
		return err
	}
	return out.Flush()
}

// answer writes a chunk, or why there is none.
func (s *server) answer(out *bufio.Writer, q *request) error {
	from, done, err := s.find(out, q)
	if err != nil {
		says, text := byte(saysFailed), err.Error()
		if errors.Is(err, errAbsent) {
			says, text = saysAbsent, ""
		}
		text = text[:min(len(text), maxText)]
		_, _ = out.Write(appendHead(nil, says, uint32(len(text)))) // a failure stays with the writer
		_, err = out.WriteString(text)
		return err
	}
	defer done()
	err = from.send(out, &s.packing, q.off, q.n)
	if err != nil && from.disk != nil && out.Flush() == nil { // the connection was not the cause
		s.p.locked(func() { s.p.checkCopy(q.id) })
	}
	return err // perhaps the head is on its way, so the connection ends
}

// find returns where the chunk can be read. It waits for an object that comes back from disk, or that is being pulled, and says so
// to the node. Done says that the chunk is read.
func (s *server) find(out *bufio.Writer, q *request) (r room, done func(), err error) {
	for {
		r, done, wait, err := s.look(q)
		if err != nil || wait == nil {
			return r, done, err
		}
		if err := s.await(out, wait); err != nil {
			return r, nil, err
		}
	}
}

// await waits until the channel is closed. The node hears each second that this one lives.
func (s *server) await(out *bufio.Writer, wait <-chan struct{}) error {
	timer := time.NewTicker(s.p.times.waitEvery)
	defer timer.Stop()
	for {
		select {
		case <-wait:
			return nil
		case <-timer.C:
			_, _ = out.Write(appendHead(nil, saysWait, 0)) // a failure stays with the writer
			if err := out.Flush(); err != nil {
				return err
			}
		case <-s.p.ctx.Done():
			return s.p.ctx.Err()
		}
	}
}

// look is find that does not wait. When wait is not nil, the caller looks again as soon as it is closed.
func (s *server) look(q *request) (r room, done func(), wait <-chan struct{}, err error) {
	err = errAbsent
	s.p.locked(func() {
		h, x := s.p.held[q.id], s.p.pulls[q.id]
		switch {
		case h != nil && h.version == q.version && !h.making:
			r, done, wait, err = s.lookHeld(q)
		case x != nil && x.room == nil && x.stage == asking: // where it is to be read is on the way
			err, wait = nil, x.news
		case x != nil && x.version == q.version && x.room != nil && x.stage != ending:
			if !q.within(x.size) {
				err = fmt.Errorf("%w: %d bytes at %d of %d", errFormat, q.n, q.off, x.size)
				return
			}
			if err = nil; !x.chunks.have(q.off, uint64(q.n)) {
				wait = x.news
				return
			}
			x.readers++
			r, done = *x.room, func() {
				s.p.locked(func() {
					x.readers--
					x.leave()
				})
			}
		}
	})
	return r, done, wait, err
}

// lookHeld is look for an object that the store has; the lock is held.
func (s *server) lookHeld(q *request) (r room, done func(), wait <-chan struct{}, err error) {
	if err := s.failure; err != nil {
		s.failure = nil
		return r, nil, nil, err
	}
	if !s.pinned || s.id != q.id || s.version != q.version {
		s.unpin()
		if r, done = s.lookOnDisk(q); done != nil {
			return r, done, nil, nil
		}
		if wait, err = s.pin(q); err != nil || wait != nil {
			return r, nil, wait, err
		}
	}
	if !q.within(s.size) {
		return r, nil, nil, fmt.Errorf("%w: %d bytes at %d of %d", errFormat, q.n, q.off, s.size)
	}
	return s.room, func() {}, nil, nil
}

// pin asks the store to hold an object. Wait is closed when the store has answered.
func (s *server) pin(q *request) (wait <-chan struct{}, err error) {
	answered, later := make(chan struct{}), true
	s.p.o.Store.Pin(s, q.id, func(at objects.Place, size uint64, err error) {
		later = false
		defer close(answered)
		switch {
		case err == nil:
			s.pinned, s.id, s.version, s.size, s.room = true, q.id, q.version, size, room{arena: &s.p.arena, at: at}
		case fault.CodeOf(err) == fault.ObjectLost:
			s.failure = errAbsent
		default:
			s.failure = err
		}
	})
	if later {
		return answered, nil
	}
	err, s.failure = s.failure, nil
	return nil, err
}

// unpin lets go of the object that was read last; the lock is held.
func (s *server) unpin() {
	if s.pinned {
		s.pinned = false
		s.p.o.Store.Unpin(s, s.id)
	}
}
