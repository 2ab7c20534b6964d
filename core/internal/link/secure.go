package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/direct"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// member is a connection whose other end is known.
type member struct {
	nc     net.Conn     // with TLS, if there is TLS
	under  io.Closer    // below TLS
	socket *direct.Conn // the same, if it is one over TCP
	peer   pki.Identity

	relayed bool   // a third node carries it
	epoch   uint64 // of the links, before the other end was checked
	unfit   error  // why it must not connect; it stays bounded as a stranger then, until it has been told
}

// withSocket returns a connection whose reader can get a thread, if it is one over TCP.
func withSocket(nc net.Conn) net.Conn {
	if t, ok := nc.(*net.TCPConn); ok {
		if c, err := direct.New(t); err == nil {
			return c
		}
	}
	return nc
}

// socketOf returns what withSocket has made; nil: it has made nothing.
func socketOf(nc net.Conn) *direct.Conn {
	if s, ok := nc.(*pki.Stranger); ok {
		nc = s.Conn
	}
	c, _ := nc.(*direct.Conn)
	return c
}

// meet finds out who is at the other end of a connection that this process dialed.
func (l *Links) meet(ctx context.Context, nc net.Conn) (*member, error) {
	m := &member{nc: nc, under: nc}
	var err error
	switch u, unix := nc.(*net.UnixConn); {
	case unix:
		m.peer, err = l.meetNeighbour(u)
	case l.c.TLS != nil:
		c := tls.Client(nc, l.c.TLS(Protocol))
		m.nc = c
		m.peer, err = memberOver(ctx, c)
	default:
		m.peer, err = l.prove(ctx, nc)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// memberOver completes TLS and returns whose certificate the other end has shown.
func memberOver(ctx context.Context, c *tls.Conn) (pki.Identity, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return pki.Identity{}, explainTLS(err)
	}
	return pki.Peer(c.ConnectionState())
}

// explainTLS adds to an error of TLS what it means in a cluster.
func explainTLS(err error) error {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: it belongs to another cluster than this process (TLS: %w)", ErrStranger, err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("TLS: %w: is the clock of one of the two machines wrong?", err)
	}
	return fmt.Errorf("TLS: %w", err)
}

// meetNeighbour says who this process is on a Unix socket, and hears the same. Only the same user, or root, may be there: whoever
// is this user has the token, too.
func (l *Links) meetNeighbour(u *net.UnixConn) (pki.Identity, error) {
	if err := wire.CheckPeer(u); err != nil {
		return pki.Identity{}, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if err := announce(u, Protocol); err != nil {
		return pki.Identity{}, err
	}
	if _, err := u.Write(appendBody(nil, []byte(l.c.Self.String()))); err != nil {
		return pki.Identity{}, err
	}
	return readIdentity(u)
}

func readIdentity(r io.Reader) (pki.Identity, error) {
	text, err := readBody(r)
	if err != nil {
		return pki.Identity{}, err
	}
	return pki.ParseIdentity(string(text))
}

// prove shows that this process knows the token, without TLS.
func (l *Links) prove(ctx context.Context, nc net.Conn) (pki.Identity, error) {
	if err := announce(nc, Protocol); err != nil {
		return pki.Identity{}, err
	}
	tokens := l.c.Tokens()
	if len(tokens) == 0 {
		return pki.Identity{}, fmt.Errorf("%w: this process has no token", ErrStranger)
	}
	answer, err := pki.JoinClient(ctx, pki.Plain(nc), tokens[0], pki.Ask{Body: []byte(l.c.Self.String())})
	if err != nil {
		return pki.Identity{}, err
	}
	return pki.ParseIdentity(string(answer.Body))
}

// host finds out who has dialed. It returns nil if that was a process that joins, which Config.Join has served.
func (l *Links) host(ctx context.Context, nc net.Conn) (*member, error) {
	if u, ok := nc.(*net.UnixConn); ok {
		return l.hostNeighbour(u)
	}
	s, err := l.enter(ctx, nc)
	if err != nil {
		return nil, err
	}
	serve := l.hostTLS
	if l.c.TLS == nil {
		serve = l.hostPlain
	}
	m, err := serve(ctx, s)
	if err != nil {
		s.Close()
		return nil, err
	}
	return m, nil
}

// enter waits until a connection has a place at the gate.
func (l *Links) enter(ctx context.Context, nc net.Conn) (*pki.Stranger, error) {
	if s, ok := nc.(*pki.Stranger); ok { // listened has made it
		return s, s.Wait(ctx)
	}
	return l.gate.Enter(ctx, nc)
}

func (l *Links) hostTLS(ctx context.Context, s *pki.Stranger) (*member, error) {
	protocols := []string{Protocol}
	if l.c.Join != nil {
		protocols = append(protocols, pki.JoinProtocol)
	}
	c := tls.Server(s, l.c.TLS(protocols...))
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if c.ConnectionState().NegotiatedProtocol == pki.JoinProtocol {
		ch, err := pki.OverTLS(ctx, c)
		if err != nil {
			return nil, err
		}
		return nil, l.joins(s, ch)
	}
	peer, err := pki.Peer(c.ConnectionState())
	if err != nil {
		return nil, err
	}
	m := &member{nc: c, under: s, peer: peer, unfit: l.fits(peer)}
	return m, m.known(s)
}

func (l *Links) hostNeighbour(u *net.UnixConn) (*member, error) {
	if err := wire.CheckPeer(u); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if err := u.SetDeadline(time.Now().Add(beginTime)); err != nil {
		return nil, err
	}
	p, err := announced(u)
	if err != nil {
		return nil, err
	}
	if p != Protocol {
		return nil, fmt.Errorf("%w: %s was asked for on a Unix socket: join over TCP", ErrGreeting, p)
	}
	peer, err := readIdentity(u)
	if err != nil {
		return nil, err
	}
	_, err = u.Write(appendBody(nil, []byte(l.c.Self.String())))
	return &member{nc: u, under: u, peer: peer}, err
}

func (l *Links) hostPlain(ctx context.Context, s *pki.Stranger) (*member, error) {
	p, err := announced(s)
	if err != nil {
		return nil, err
	}
	ch := pki.Plain(s)
	if p == pki.JoinProtocol {
		return nil, l.joins(s, ch)
	}
	m := &member{nc: s, under: s}
	err = pki.JoinServer(ctx, ch, l.c.Tokens(), func(_ context.Context, ask pki.Ask) (pki.Answer, error) {
		var err error
		if m.peer, err = pki.ParseIdentity(string(ask.Body)); err != nil {
			return pki.Answer{}, err
		}
		m.unfit = l.fits(m.peer)
		return pki.Answer{Body: []byte(l.c.Self.String())}, m.known(s)
	})
	return m, err
}

// known lifts the bounds of a member that may connect.
func (m *member) known(s *pki.Stranger) error {
	if m.unfit != nil {
		return nil
	}
	return s.Known()
}

// fits returns why a member must not connect, whatever it wants.
func (l *Links) fits(peer pki.Identity) error {
	if err := l.ours(peer); err != nil {
		return err
	}
	return l.c.Admit(peer)
}

// joins hands a connection to Config.Join.
func (l *Links) joins(s *pki.Stranger, c pki.Channel) error {
	if l.c.Join == nil {
		return fmt.Errorf("%w: a process wants to join, and this one is no head", ErrRefused)
	}
	l.c.Join(l.ctx, s, c) // pki has the times of a join
	return nil
}

// ours returns an error when a member is not of this cluster and generation.
func (l *Links) ours(peer pki.Identity) error {
	self := l.c.Self
	switch {
	case peer.Cluster != self.Cluster:
		return fmt.Errorf("%w: it belongs to cluster %s, this process to %s", ErrStranger, peer.Cluster, self.Cluster)
	case l.isOutdated(peer):
		return fmt.Errorf("%w: %s %d is of generation %d, %s %d of generation %d: the heads were recovered in between, so the older head is none any more",
			ErrStranger, peer.Role, peer.Number, peer.Generation, self.Role, self.Number, self.Generation)
	case peer.Number == self.Number:
		return fmt.Errorf("%w: both ends have number %d", ErrStranger, self.Number)
	}
	if err := l.c.Fits(peer); err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	return nil
}

// outdated returns why a connection must not be attached now. Redial finds each connection that was attached, if the lock that guards the attached ones
// of its kind is held from here until it is one of them.
func (l *Links) outdated(m *member) error {
	if m.epoch != l.epoch.Load() {
		return fmt.Errorf("%w with %s %d", ErrOutdated, m.peer.Role, m.peer.Number)
	}
	return nil
}

// DialJoin connects a process that joins with a head, by TLS or without. The caller goes on with pki.JoinClient, and closes
// the connection.
func DialJoin(ctx context.Context, address string, insecure bool) (net.Conn, pki.Channel, error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, pki.Channel{}, fmt.Errorf("head at %s: %w", address, err)
	}
	_ = nc.SetDeadline(time.Now().Add(beginTime)) // pki sets the next one
	if insecure {
		if err := announce(nc, pki.JoinProtocol); err != nil {
			nc.Close()
			return nil, pki.Channel{}, fmt.Errorf("head at %s: %w", address, err)
		}
		return nc, pki.Plain(nc), nil
	}
	c := tls.Client(nc, pki.JoinTLS())
	ch, err := pki.OverTLS(ctx, c)
	if err != nil {
		nc.Close()
		return nil, pki.Channel{}, err
	}
	return c, ch, nil
}

// isOutdated reports whether one of the two ends is a head that was left behind when the heads were recovered. A node lives on through a
// recovery with the certificate that it has. It follows no head of a generation before the newest one that it has met.
func (l *Links) isOutdated(peer pki.Identity) bool {
	self := l.c.Self
	switch {
	case self.Role == pki.RoleHead && peer.Role == pki.RoleHead:
		return peer.Generation != self.Generation
	case self.Role == pki.RoleHead:
		return peer.Generation > self.Generation
	case peer.Role != pki.RoleHead:
		return false
	}
	for {
		newest := l.newest.Load()
		if peer.Generation <= newest || l.newest.CompareAndSwap(newest, peer.Generation) {
			return peer.Generation < newest
		}
	}
}
