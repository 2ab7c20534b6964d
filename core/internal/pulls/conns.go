package pulls

import (
	"bufio"
	"context"
	"net"
	"slices"
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
	waits  map[uint32][]chan *bulk // those who dial: perhaps they wait until fewer connections are open, and take one that comes free instead
}

// bulk is a bulk connection that this node has dialed.
type bulk struct {
	net.Conn
	in    *bufio.Reader
	used  bool // it has carried something before
	timer *time.Timer
}

// get returns a connection to a node: one that nobody uses, a new one, or one that comes free while there may be no more of them.
func (s *conns) get(ctx context.Context, node uint32) (*bulk, error) {
	b, free := s.take(node)
	if b != nil {
		return b, nil
	}
	type dialed struct {
		c   net.Conn
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dials := make(chan dialed, 1)
	go func() {
		c, err := s.network.Bulk(ctx, node)
		dials <- dialed{c, err}
	}()
	var d dialed
	select {
	case d = <-dials:
	case b = <-free:
		cancel()
		d = <-dials
	}
	if b == nil {
		b = s.leave(node, free)
	}
	switch {
	case d.err != nil && b == nil:
		return nil, d.err
	case d.err != nil:
		return b, nil
	}
	fresh := &bulk{Conn: d.c, in: bufio.NewReaderSize(patient.New(d.c, s.patience), 4<<10)}
	if b != nil {
		s.put(node, b)
	}
	return fresh, nil
}

// take returns a connection that nobody uses. If there is none, it returns the channel to which one is given that comes free.
func (s *conns) take(node uint32) (*bulk, chan *bulk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.idle[node]
	if len(list) == 0 {
		if s.waits == nil {
			s.waits = make(map[uint32][]chan *bulk)
		}
		free := make(chan *bulk, 1)
		s.waits[node] = append(s.waits[node], free)
		return nil, free
	}
	b := list[len(list)-1]
	s.remove(node, b)
	b.timer.Stop()
	return b, nil
}

// leave ends a wait. It returns the connection that was given meanwhile, nil if there is none.
func (s *conns) leave(node uint32, free chan *bulk) *bulk {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waits[node], free); i >= 0 {
		if s.waits[node] = slices.Delete(s.waits[node], i, i+1); len(s.waits[node]) == 0 {
			delete(s.waits, node)
		}
		return nil
	}
	return <-free
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
	if list := s.waits[node]; len(list) > 0 {
		if s.waits[node] = list[1:]; len(list) == 1 {
			delete(s.waits, node)
		}
		list[0] <- b
		return
	}
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
