package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/resume"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Protocol is the TLS protocol (ALPN) of connections between members of a cluster. Plain connections begin
// with the name.
const Protocol = "eagleray-link/1"

// Bounds of the package.
const (
	// BulkConns is how many bulk connections a node may have dialed to another node at a time.
	BulkConns = 4
	// ValueConns is how many more a head may have dialed to another head for large values of the replicated state.
	ValueConns = 4
	// RaftConns is how many connections a head may have dialed to another head for the replicated state.
	RaftConns = 16

	beginTime  = 5 * time.Second        // a connection must have said who it is and what it is for
	keepPause  = 200 * time.Millisecond // until a lost session that is to be kept begins anew
	acceptWait = 100 * time.Millisecond // after a listener has failed to accept, as when no descriptor is free
)

// Errors of links. The texts around them name the node and the address.
var (
	// ErrClosed: Links.Close was called.
	ErrClosed = errors.New("the links of this process are closed")
	// ErrDead: the node is dead. Its number is never used again. Config.Admit returns it for the processes of such a node.
	ErrDead = errors.New("the node is dead")
	// ErrEnded: the other end of the stream has ended, or the whole session is lost. EndError has the reason.
	ErrEnded = errors.New("the stream has ended")
	// ErrRefused: the other side of a connection has refused it, and has said why.
	ErrRefused = errors.New("refused")
	// ErrStranger: the other side of a connection is not the member that it must be.
	ErrStranger = errors.New("the other side is another member, or none of this cluster")
	// ErrGreeting: the other side of a connection does not speak this protocol.
	ErrGreeting = errors.New("not a connection between members of a cluster")
	// ErrOutdated: Redial was called while the connection was made, so what its other end was checked by may not count any more. It is dialed again.
	ErrOutdated = errors.New("the keys of the cluster have changed while a connection was made")
	// ErrAddress: the node has no address.
	ErrAddress = errors.New("no address is known")
)

// DeclaredError says that the other side of a connection takes this process for one of a node that is dead.
type DeclaredError struct {
	By  uint32 // the node that has said so
	Why string
}

func (e *DeclaredError) Error() string {
	return fmt.Sprintf("the other side says that this node was declared dead: %s", e.Why)
}

// Unwrap returns ErrRefused.
func (e *DeclaredError) Unwrap() error { return ErrRefused }

// EndError says why a stream ended, or a whole session.
type EndError struct {
	Node  uint32        // at the other end
	Why   resume.Reason // as the other end said it; or why the session is lost
	Cause error         // why the last attempt to connect failed, with resume.NoPath; may be nil
}

// Error names the node and the reason.
func (e *EndError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("connection with node %d has ended: %s: %v", e.Node, e.Why, e.Cause)
	}
	return fmt.Sprintf("connection with node %d has ended: %s", e.Node, e.Why)
}

// Unwrap returns ErrEnded and the cause.
func (e *EndError) Unwrap() []error {
	if e.Cause != nil {
		return []error{ErrEnded, e.Cause}
	}
	return []error{ErrEnded}
}

// Config is what Links need. It is not changed after Open. The functions run on goroutines of the Links, several
// at a time, and none of them may call Links.Close.
type Config struct {
	// Self is this process. All members have the same Cluster and Generation.
	Self pki.Identity
	// TLS is pki.Keys.TLS. Nil means connections without TLS, on which the ends prove that they know a token.
	TLS func(protocols ...string) *tls.Config
	// Tokens returns the tokens of the cluster, the one to dial with first. It is needed without TLS only.
	Tokens func() []pki.Token
	// Resolve returns the addresses of a node, in the order in which they are tried. One that
	// begins with "/" is a Unix socket on this machine. It is called for each attempt.
	Resolve func(node uint32) []string

	// Relay returns a connection with a node that a third node carries. It is called when there has been no direct connection with the node
	// for some seconds; bulk says that much data will follow. Nil: there is none.
	Relay func(ctx context.Context, node uint32, bulk bool) (net.Conn, error)

	// Serve gets each stream that a peer opens, on a goroutine of its own, and closes the stream.
	Serve func(from uint32, s *Stream)
	// Bulk gets each bulk connection that a peer dials, on a goroutine of its own, and closes the connection.
	Bulk func(from uint32, c net.Conn)
	// Raft gets each connection that another head dials for the replicated state, on a goroutine of its own, and closes the connection. Nil:
	// this process is no head.
	Raft func(from uint32, c net.Conn)
	// Control returns what handles the peer's control messages. It is called once for each session, before the first message
	// is handled and after Down for the session before. The handler must not wait for bytes of a stream of the same node.
	Control func(from uint32, p *wire.Peer) wire.Handler
	// Down hears that a session is lost, after all its streams have ended. The error is an *EndError.
	Down func(node uint32, why error)

	// Fits returns why a member may not be at the other end, whichever side has dialed: its role and its number do not fit this process. Nil: all fit.
	Fits func(peer pki.Identity) error
	// Admit refuses members that must not connect, with a reason that they are told. Nil admits all.
	Admit func(peer pki.Identity) error
	// Declared hears that another process has refused this one because its node was declared dead, each time. It may be nil.
	Declared func(by uint32, why string)
	// Join gets the connections of processes that join the cluster, and closes them. Nil refuses these connections.
	Join func(ctx context.Context, s *pki.Stranger, c pki.Channel)
	// Keep says that there must always be a connection to a node, also while nothing is to be sent. Nil: to none.
	Keep func(node uint32) bool

	// Session has Window, MaxUnsent, MaxStreams and Patience; the other options are set here.
	Session resume.Options
	// Log gets what is wrong with connections. Nil: slog.Default.
	Log *slog.Logger

	dial func(ctx context.Context, network, address string) (net.Conn, error) // a test's network; nil: net.Dialer
}

func (c *Config) complete() error {
	switch {
	case c.Resolve == nil || c.Serve == nil || c.Bulk == nil || c.Control == nil || c.Down == nil:
		return errors.New("open links: Resolve, Serve, Bulk, Control and Down must be given")
	case c.TLS == nil && c.Tokens == nil:
		return errors.New("open links: without TLS a token is needed")
	}
	if c.Admit == nil {
		c.Admit = func(pki.Identity) error { return nil }
	}
	if c.Fits == nil {
		c.Fits = func(pki.Identity) error { return nil }
	}
	if c.Keep == nil {
		c.Keep = func(uint32) bool { return false }
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.dial == nil {
		c.dial = new(net.Dialer).DialContext
	}
	o := c.Session
	o.Self, o.Peer, o.Boot = 0, 1, 1
	if _, err := resume.New(o); err != nil {
		return fmt.Errorf("open links: %w", err)
	}
	if c.Session.Window == 0 {
		c.Session.Window = resume.DefaultWindow
	}
	return nil
}
