package pulls

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/patient"
)

// idleFor is how long a bulk connection that nobody uses stays open.
const idleFor = 5 * time.Second

// conns are the bulk connections to other nodes that nobody uses at the moment.
type conns struct {
	network  Network
	patience time.Duration

	mu     sync.Mutex
	closed bool
	idle   map[uint32][]*bulk
}

// bulk is a bulk connection that this node has dialed.
type bulk struct {
	net.Conn
	in    *bufio.Reader
	used  bool // it has carried something before
	timer *time.Timer
}

// get returns a connection to a node.
func (s *conns) get(ctx context.Context, node uint32) (*bulk, error) {
	if b := s.take(node); b != nil {
		return b, nil
	}
	c, err := s.network.Bulk(ctx, node)
	if err != nil {
		return nil, err
	}
	return &bulk{Conn: c, in: bufio.NewReaderSize(patient.New(c, s.patience), 4<<10)}, nil
}

// take returns a connection that is open already, nil if there is none.
func (s *conns) take(node uint32) *bulk {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.idle[node]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	s.remove(node, b)
	b.timer.Stop()
	return b
}

// put keeps a connection for a while.
func (s *conns) put(node uint32, b *bulk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		b.Close()
		return
	}
	if s.idle == nil {
		s.idle = make(map[uint32][]*bulk)
	}
	b.used = true
	b.timer = time.AfterFunc(idleFor, func() { s.expire(node, b) })
	s.idle[node] = append(s.idle[node], b)
}

func (s *conns) expire(node uint32, b *bulk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remove(node, b) {
		b.Close()
	}
}

// remove takes a connection out of the list. It returns false if it is not in it; mu held.
func (s *conns) remove(node uint32, b *bulk) bool {
	list := s.idle[node]
	for i, x := range list {
		if x == b {
			if list = append(list[:i:i], list[i+1:]...); len(list) == 0 {
				delete(s.idle, node)
			} else {
				s.idle[node] = list
			}
			return true
		}
	}
	return false
}

// drop closes the connections to a node that is dead.
func (s *conns) drop(node uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.idle[node] {
		b.timer.Stop()
		b.Close()
	}
	delete(s.idle, node)
}

func (s *conns) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, list := range s.idle {
		for _, b := range list {
			b.timer.Stop()
			b.Close()
		}
	}
	s.idle = nil
}
