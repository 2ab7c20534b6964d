package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/resume"
)

// Listen accepts connections until Close, or until the listener is closed.
func (l *Links) Listen(from net.Listener) error {
	defer context.AfterFunc(l.ctx, func() { from.Close() })()
	for {
		c, err := from.Accept()
		switch {
		case l.ctx.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept connections at %s: %w", from.Addr(), err)
		case err != nil:
			l.log.Warn("no connection can be accepted now", "address", from.Addr().String(), "why", err)
			select {
			case <-time.After(acceptWait):
			case <-l.ctx.Done():
			}
			continue
		}
		l.listened(c)
	}
}

// listened serves an accepted connection. It waits for nothing, so that nobody holds up the next one.
func (l *Links) listened(c net.Conn) {
	c = withSocket(c)
	if _, ok := c.(*net.UnixConn); !ok {
		s, err := l.gate.Arrive(c)
		if err != nil {
			l.log.Warn("a connection was turned away", "why", err)
			return // it is closed
		}
		c = s
	}
	if !l.run(func() {
		if err := l.welcome(c, false); err != nil {
			l.log.Warn("a connection was refused", "from", c.RemoteAddr().String(), "why", err)
		}
	}) {
		c.Close()
	}
}

// Accept takes a connection that somebody has dialed: of a session, a bulk connection, or of a process that joins. It returns
// when it is clear what the connection is for, and who is there. After an error the connection is closed.
func (l *Links) Accept(c net.Conn) error { return l.accept(c, false) }

// AcceptRelayed is Accept for a connection that a third node carries. Who is at its other end is proved as on any other connection.
func (l *Links) AcceptRelayed(c net.Conn) error { return l.accept(c, true) }

func (l *Links) accept(c net.Conn, relayed bool) error {
	done := make(chan error, 1)
	if !l.run(func() { done <- l.welcome(c, relayed) }) {
		c.Close()
		return ErrClosed
	}
	return <-done
}

func (l *Links) welcome(nc net.Conn, relayed bool) (err error) {
	ctx, cancel := context.WithTimeout(l.ctx, beginTime)
	defer cancel()
	stop := context.AfterFunc(l.ctx, func() { nc.Close() })
	defer stop()
	epoch := l.epoch.Load()
	m, err := l.host(ctx, nc)
	if err != nil {
		nc.Close()
		return err
	}
	if m == nil {
		return nil
	}
	m.relayed, m.socket, m.epoch = relayed, socketOf(nc), epoch
	defer func() {
		if err != nil {
			m.under.Close()
		}
	}()
	_ = m.nc.SetDeadline(time.Now().Add(beginTime)) // not later than a stranger's, if it is still one
	g, err := readGreeting(m.nc)
	if err != nil {
		return fmt.Errorf("%s %d: %w", m.peer.Role, m.peer.Number, err)
	}
	if err := l.admits(m, g); err != nil {
		l.refuse(m, err)
		return err
	}
	if g.kind != forLink {
		return l.acceptOwn(ctx, nc, m, g.kind)
	}
	return l.acceptLink(nc, m, g.body)
}

// admits returns why a connection is refused.
func (l *Links) admits(m *member, g greeting) error {
	if m.unfit != nil {
		return m.unfit
	}
	if err := l.ours(m.peer); err != nil {
		return err
	}
	if g.to != l.c.Self.Number {
		return fmt.Errorf("%w: here is %s %d, and not node %d", ErrStranger, l.c.Self.Role, l.c.Self.Number, g.to)
	}
	switch {
	case g.kind == forLink || g.kind == forBulk:
	case g.kind != forRaft:
		return fmt.Errorf("%w: purpose %d is not known", ErrGreeting, g.kind)
	case l.c.Raft == nil || m.peer.Role != pki.RoleHead:
		return fmt.Errorf("%w: only heads replicate the cluster's state, and only with each other", ErrStranger)
	}
	return l.c.Admit(m.peer)
}

// refuse tells the other end why.
func (l *Links) refuse(m *member, why error) {
	status := byte(refused)
	if errors.Is(why, ErrDead) {
		status = buried
	}
	_, _ = m.nc.Write(appendBody([]byte{status}, []byte(why.Error())))
}

// acceptLink gives a connection to the session with the node.
func (l *Links) acceptLink(nc net.Conn, m *member, body []byte) error {
	h, err := resume.ParseHello(body)
	if err != nil {
		l.refuse(m, err)
		return err
	}
	k, err := l.To(m.peer.Number)
	if err != nil {
		return err
	}
	c, answer, err := k.accept(m, h)
	switch {
	case errors.Is(err, resume.ErrStale):
		_, _ = m.nc.Write(appendBody([]byte{stale}, answer.Append(nil)))
		m.under.Close()
		return nil // both ends now know better, and dial again
	case errors.Is(err, resume.ErrSurplus):
		l.refuse(m, err)
		m.under.Close()
		return nil
	case err != nil:
		l.refuse(m, err)
		return err
	}
	if _, err = m.nc.Write(appendBody([]byte{accepted}, answer.Append(nil))); err == nil {
		err = nc.SetDeadline(time.Time{})
	}
	if err != nil {
		c.s.detached(c.id, err)
		return err
	}
	c.start()
	return nil
}

// accept gives a connection to the session that there is, or to a new one if the connection proves that the old one is lost.
func (k *Link) accept(m *member, h resume.Hello) (*conn, resume.Hello, error) {
	for {
		s, err := k.session()
		if err != nil {
			return nil, resume.Hello{}, fmt.Errorf("node %d: %w", k.node, err)
		}
		c, answer, err := s.accept(m, h)
		if !errors.Is(err, resume.ErrLost) {
			return c, answer, err
		}
	}
}

func (s *session) accept(m *member, h resume.Hello) (c *conn, answer resume.Hello, err error) {
	err = s.event(func() error {
		if err := s.k.links.outdated(m); err != nil {
			return err
		}
		id, a, err := s.rs.Accept(h, m.relayed)
		answer = a
		if err == nil {
			c = s.install(id, m)
		}
		return err
	})
	return c, answer, err
}
