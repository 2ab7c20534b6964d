package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/resume"
)

// dial begins an attempt to connect, as the session has asked for.
func (s *session) dial(id resume.ConnID, relay bool) {
	ctx, stop := context.WithCancel(s.k.links.ctx)
	s.dials[id] = stop
	s.k.links.run(func() {
		defer s.dialed(id, stop)
		if err := s.connect(ctx, id, relay); err != nil {
			s.complain(err)
			s.k.links.declared(err)
			s.detached(id, err)
		}
	})
}

// complainEvery is how often the log says that a node cannot be reached. Attempts come every second or two.
const complainEvery = time.Minute

// complain logs why an attempt has failed, unless the log has said so a short time ago, or the session has another connection.
func (s *session) complain(why error) {
	level := slog.LevelDebug
	if !errors.Is(why, ErrAddress) && s.complains() { // a head does not dial nodes: they dial it
		level = slog.LevelWarn
	}
	s.k.links.log.Log(context.Background(), level, "no connection to another node; it is dialed again", "node", s.k.node, "why", why)
}

func (s *session) complains() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil || s.closing || s.lost != nil || !s.complained.IsZero() && time.Since(s.complained) < complainEvery {
		return false
	}
	s.complained = time.Now()
	return true
}

func (s *session) dialed(id resume.ConnID, stop context.CancelFunc) {
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dials, id)
}

// connect dials the node and attaches the connection.
func (s *session) connect(ctx context.Context, id resume.ConnID, relay bool) error {
	reach := s.k.links.reach
	if relay {
		reach = s.k.links.reachAny
	}
	m, body, err := reach(ctx, s.k.node, forLink, func() ([]byte, error) { return s.hello(id) })
	if err != nil {
		return err
	}
	h, err := resume.ParseHello(body)
	if err != nil {
		m.under.Close()
		return err
	}
	var c *conn
	err = s.event(func() error {
		if err := s.k.links.outdated(m); err != nil {
			return err
		}
		if err := s.rs.Attach(id, h, m.relayed); err != nil {
			return err
		}
		c = s.install(id, m)
		s.complained = time.Time{}
		return nil
	})
	if err != nil {
		m.under.Close()
		return err
	}
	c.start()
	return nil
}

func (s *session) hello(id resume.ConnID) (b []byte, err error) {
	err = s.event(func() error {
		h, err := s.rs.Hello(id)
		b = h.Append(nil)
		return err
	})
	return b, err
}

// reach dials the addresses of a node, one after the other, and greets. It returns the first connection that the node
// has answered, and the answer. hello makes the greeting's body; nil: there is none.
func (l *Links) reach(ctx context.Context, node uint32, kind byte, hello func() ([]byte, error)) (*member, []byte, error) {
	addresses := l.c.Resolve(node)
	if len(addresses) == 0 {
		return nil, nil, fmt.Errorf("node %d: %w", node, ErrAddress)
	}
	var failed []error
	end := time.Now().Add(beginTime)
	for i, address := range addresses {
		limit := time.Until(end) / time.Duration(len(addresses)-i)
		m, body, err := l.try(ctx, limit, node, kind, hello, func(ctx context.Context) (net.Conn, error) {
			network := "tcp"
			if isPath(address) {
				network = "unix"
			}
			return l.c.dial(ctx, network, address)
		})
		if err == nil {
			return m, body, nil
		}
		failed = append(failed, fmt.Errorf("node %d at %s: %w", node, address, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, nil, errors.Join(failed...)
}

// try greets a node on a connection that dial makes.
func (l *Links) try(ctx context.Context, limit time.Duration, node uint32, kind byte, hello func() ([]byte, error), dial func(context.Context) (net.Conn, error)) (_ *member, _ []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	nc, err := dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	nc = withSocket(nc)
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	defer func() {
		if !stop() && err == nil { // it was closed behind the answer
			err = context.Cause(ctx)
		}
		if err != nil {
			nc.Close()
		}
	}()
	epoch := l.epoch.Load()
	m, err := l.meet(ctx, nc)
	if err == nil {
		m.socket, m.epoch = socketOf(nc), epoch
		err = l.ours(m.peer)
	}
	if err == nil && m.peer.Number != node {
		err = fmt.Errorf("%w: it is %s %d", ErrStranger, m.peer.Role, m.peer.Number)
	}
	if err != nil {
		return nil, nil, err
	}
	g := greeting{kind: kind, to: node}
	if hello != nil {
		if g.body, err = hello(); err != nil {
			return nil, nil, err
		}
	}
	if _, err = m.nc.Write(g.encode()); err != nil {
		return nil, nil, err
	}
	status, body, err := readReply(m.nc)
	if err == nil && status == refused {
		err = fmt.Errorf("%w: %s", ErrRefused, body)
	}
	if err == nil && status == buried {
		err = &DeclaredError{By: node, Why: string(body)}
	}
	return m, body, err
}

// declared passes on that another process has refused this one because it was declared dead.
func (l *Links) declared(err error) {
	var d *DeclaredError
	if errors.As(err, &d) && l.c.Declared != nil {
		l.c.Declared(d.By, d.Why)
	}
}
