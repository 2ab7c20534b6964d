package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Connections that a third node carries.

// relayStart is how much earlier the relay is tried than the addresses of a node, which have not worked for some seconds.
const relayStart = 500 * time.Millisecond

// errOther: another connection of the same attempt was faster.
var errOther = errors.New("another way was faster")

// reached is what an attempt to reach a node came to.
type reached struct {
	m    *member
	body []byte
	err  error
}

// reachAny reaches a node through the relay or directly, as reach does. Only the first connection on which the node has
// proved who it is goes on: a node must not be greeted twice in one attempt.
func (l *Links) reachAny(ctx context.Context, node uint32, kind byte, hello func() ([]byte, error)) (*member, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	var taken atomic.Bool
	first := func() ([]byte, error) {
		switch {
		case taken.Swap(true):
			return nil, errOther
		case hello == nil:
			return nil, nil
		}
		return hello()
	}
	results := make(chan reached, 2)
	go func() { results <- l.reachByRelay(ctx, node, kind, first) }()
	timer := time.NewTimer(relayStart)
	defer timer.Stop()
	var one reached
	select {
	case one = <-results:
		if one.err == nil {
			return one.m, one.body, nil
		}
	case <-timer.C:
		one.err = errOther // it has not answered yet, and is waited for below
	}
	go func() {
		m, body, err := l.reach(ctx, node, kind, first)
		results <- reached{m, body, err}
	}()
	late := errors.Is(one.err, errOther)
	two := <-results
	if late && two.err != nil {
		one, two = two, <-results
	} else if late {
		cancel()
		<-results // it was slower, and greets nobody
	}
	if two.err != nil {
		return nil, nil, errors.Join(one.err, two.err)
	}
	return two.m, two.body, nil
}

func (l *Links) reachByRelay(ctx context.Context, node uint32, kind byte, hello func() ([]byte, error)) (r reached) {
	r.m, r.body, r.err = l.try(ctx, beginTime, node, kind, hello, func(ctx context.Context) (net.Conn, error) {
		return l.c.Relay(ctx, node, kind == forBulk)
	})
	if r.err != nil {
		return reached{err: fmt.Errorf("node %d through the head: %w", node, r.err)}
	}
	r.m.relayed = true
	return r
}

// isRelayed reports whether a third node carries the connection with the node.
func (k *Link) isRelayed() bool {
	s, err := k.current()
	return err == nil && s != nil && s.isRelayed()
}

func (s *session) isRelayed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && s.relayed
}

// tellWay logs that a session goes another way than before.
func (l *Links) tellWay(node uint32, relayed bool) {
	if relayed {
		l.log.Warn("there is no direct connection with another node; the head carries what goes between the two", "node", node)
		return
	}
	l.log.Info("there is a direct connection with the other node again", "node", node)
}
