package pki

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// Channel is a connection on which two ends prove to each other that they know the token.
type Channel struct {
	conn    net.Conn
	binding []byte // what only the two ends of this connection have in common
}

// exporterLabel names the value of a TLS session that proofs are bound to.
const exporterLabel = "EXPORTER-eagleray-join"

// OverTLS completes the TLS handshake and returns the channel. Both ends must have agreed on
// JoinProtocol.
func OverTLS(ctx context.Context, c *tls.Conn) (Channel, error) {
	if err := c.HandshakeContext(ctx); err != nil {
		return Channel{}, fmt.Errorf("TLS with %s: %w", c.RemoteAddr(), err)
	}
	s := c.ConnectionState()
	if s.Version < tls.VersionTLS13 || s.NegotiatedProtocol != JoinProtocol {
		return Channel{}, fmt.Errorf("%w: %s speaks %q with %s, must be %s with TLS 1.3",
			ErrStranger, c.RemoteAddr(), s.NegotiatedProtocol, tls.VersionName(s.Version), JoinProtocol)
	}
	value, err := s.ExportKeyingMaterial(exporterLabel, nil, sha256.Size)
	if err != nil {
		return Channel{}, fmt.Errorf("TLS with %s: %w", c.RemoteAddr(), err)
	}
	return Channel{conn: c, binding: append([]byte("tls "), value...)}, nil
}

// Plain returns a channel without TLS: everybody on the way can read and change what is said
// on it. Its proofs are worth nothing on a channel with TLS.
func Plain(c net.Conn) Channel { return Channel{conn: c, binding: []byte("plain")} }

// peer names the other end in messages.
func (c Channel) peer() string { return c.conn.RemoteAddr().String() }

// within gives the next reads and writes some time. They fail at once when the context is over.
func (c Channel) within(ctx context.Context, limit time.Duration) error {
	if err := c.conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	return context.Cause(ctx) // watch would have been too early
}

// watch ends reads and writes when the context is over. The caller calls the result in the end.
func (c Channel) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
}

// because makes the end of a context, which fails reads and writes, the cause of their error.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// The labels of proofs: one for each message that carries one.
const (
	headKnows   = "head knows the token"
	joinerKnows = "joiner knows the token"
	headAnswers = "head answers"
)

// prove returns the proof that the token's owner has said, on this channel, what label and
// said tell.
func (c Channel) prove(t Token, label string, said ...[]byte) []byte {
	mac := hmac.New(sha256.New, t.derive("join"))
	for _, part := range append([][]byte{[]byte(label), c.binding}, said...) {
		// With their lengths, so that no two lists of parts are the same bytes.
		mac.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(part))))
		mac.Write(part)
	}
	return mac.Sum(nil)
}
