package link

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Link is what this process has with one node. It has at most one session, and makes a new one when that is lost.
type Link struct {
	links  *Links
	node   uint32
	places chan struct{} // of the bulk connections that this node dialed
	guests chan struct{} // of the bulk connections that the peer dialed, those for large values among them

	valuePlaces chan struct{} // of the bulk connections for large values that this head dialed

	raftPlaces chan struct{} // the same of the connections for the replicated state
	raftGuests chan struct{}

	// The lock comes after that of a session, and before that of Links.
	mu   sync.Mutex
	now  *session // nil: none
	last *session // the one before
	bulk map[*bulkConn]bool
	over error // ErrDead or ErrClosed; nil: it is neither
}

// Node is the number of the node.
func (k *Link) Node() uint32 { return k.node }

// Control returns the control stream's end of the session that there is now. When that is lost, the peer is closed, and
// Control returns another one. A message that must arrive before bytes of a stream is pushed, flushed (wire.Peer.Flush), and then
// the bytes are written.
func (k *Link) Control() (*wire.Peer, error) {
	s, err := k.session()
	if err != nil {
		return nil, fmt.Errorf("control messages to node %d: %w", k.node, err)
	}
	return s.peer, nil
}

// Open opens a stream to a target, of at most resume.MaxTarget bytes, that the peer's Serve understands. It does not wait for a
// connection: what is written is sent when there is one. A peer that does not want the stream ends it with
// resume.Refused.
func (k *Link) Open(target []byte) (*Stream, error) {
	for {
		s, err := k.session()
		if err != nil {
			return nil, fmt.Errorf("open a stream to node %d: %w", k.node, err)
		}
		x, err := s.open(target)
		if !errors.Is(err, resume.ErrLost) {
			return x, err
		}
	}
}

func (s *session) open(target []byte) (x *Stream, err error) {
	err = s.event(func() error {
		id, err := s.rs.Open(target)
		if err == nil {
			x = s.newStream(id, target)
			s.streams[id] = x
		}
		return err
	})
	return x, err
}

// session returns the session that there is, or a new one.
func (k *Link) session() (*session, error) {
	if s, err := k.current(); s != nil || err != nil {
		return s, err
	}
	return k.renew(k.links.c.Keep(k.node))
}

// current returns the session that there is, nil if there is none.
func (k *Link) current() (*session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, k.over
}

func (k *Link) renew(keep bool) (*session, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now == nil && k.over == nil {
		k.now = k.newSession(k.last, keep)
		k.last = nil
	}
	return k.now, k.over
}

// lose is called when a session is lost, with its lock held.
func (k *Link) lose(s *session) {
	k.forget(s)
	why := s.lost
	k.links.run(func() {
		<-s.began
		for _, c := range k.bulkConns() {
			c.sever()
		}
		k.links.c.Down(k.node, why)
		close(s.done)
		if k.links.c.Keep(k.node) {
			k.again()
		}
	})
}

func (k *Link) forget(s *session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now, k.last = nil, s
}

// again makes a session in the place of a lost one, after a pause: what was wrong with the lost one may be wrong again.
func (k *Link) again() {
	timer := time.NewTimer(keepPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		_, _ = k.session() // it fails when the node is dead
	case <-k.links.ctx.Done():
	}
}

// kill ends everything with the node, for ever.
func (k *Link) kill(why error) {
	s := k.shut(why)
	if s != nil {
		_ = s.event(func() error {
			s.closing = errors.Is(why, ErrClosed)
			if s.closing {
				s.rs.GiveUp(resume.Closed)
			} else {
				s.rs.PeerDead()
			}
			return nil
		})
	}
	for _, c := range k.bulkConns() {
		c.sever()
	}
}

func (k *Link) shut(why error) *session {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = why
	return k.now
}
