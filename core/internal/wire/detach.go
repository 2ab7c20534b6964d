package wire

import (
	"net"
	"time"
)

// State is how far one end of a control connection has got. With it and the connection's
// descriptor another process goes on, and the other end does not notice.
type State struct {
	Unread []byte // bytes that were received and not handled
	Unsent []byte // bytes that are still to be sent
	LastID uint64 // the id of the latest request that was sent
}

// Detach stops p without closing its connection. When it returns, the handler has ended, and
// the handler's answers are in the state. Later messages are refused. Neither onClose nor the
// functions that wait for answers are called. The caller must not hold a lock that the handler
// takes. Detach returns false when the connection is closed already.
func (p *Peer) Detach() (State, bool) {
	p.stops.Store(true)
	past := time.Unix(1, 0)
	if p.conn.SetReadDeadline(past) != nil {
		return State{}, false
	}
	select {
	case <-p.ended:
	case <-p.done:
		return State{}, false
	}
	if !p.leave() {
		return State{}, false
	}
	_ = p.conn.SetWriteDeadline(past) // the writer may be stuck at a full socket
	select {
	case p.wake <- struct{}{}:
	default:
	}
	<-p.wrote
	return p.state(), true
}

// leave stops the writer, and makes the peer refuse further messages. It
// returns false when the peer is closed already.
func (p *Peer) leave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.closed, p.leaves, p.err, p.calls = true, true, ErrPeerClosed, nil
	return true
}

// state returns what the reader and the writer have left; both have ended.
func (p *Peer) state() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return State{Unread: append([]byte(nil), p.in.rest()...), Unsent: p.out, LastID: p.nextID}
}

// Resume is NewPeer for a connection that another process has detached.
func Resume(conn net.Conn, s State, h Handler, onClose func(error)) *Peer {
	p := NewPeer(conn, h, onClose)
	p.in.buf, p.in.end = s.Unread, len(s.Unread)
	p.out, p.nextID = s.Unsent, s.LastID
	if len(p.out) > 0 {
		p.wake <- struct{}{}
	}
	return p
}

// Question makes a request that came before the connection was detached, so that it can be
// answered now.
func (p *Peer) Question(t Type, id uint64) *Message {
	return &Message{Kind: Request, Type: t, ID: id, peer: p}
}
