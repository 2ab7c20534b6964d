package pki

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
)

// JoinProtocol is the TLS protocol (ALPN) of a process that has no certificate yet.
const JoinProtocol = "eagleray-join/1"

// Errors of TLS.
var (
	ErrNoCertificate = errors.New("no certificate is installed")
	ErrStranger      = errors.New("the other side is no member of this cluster")
)

// TLS returns the configuration of connections between members of the cluster, for both ends. Both
// show a certificate of the cluster; Peer tells afterwards whose it was. The two ends must
// agree on one of the protocols. A server that names JoinProtocol among them lets processes
// join: to them it shows its certificate and asks for none, and with them it speaks no other
// protocol.
func (k *Keys) TLS(protocols ...string) *tls.Config {
	members := slices.DeleteFunc(slices.Clone(protocols), func(p string) bool { return p == JoinProtocol })
	c := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             members,
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		// A certificate names a member and no host, so that the usual check does not fit:
		// VerifyConnection does it, at both ends.
		InsecureSkipVerify: true,
		VerifyConnection:   k.verify,
		GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.certificate() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return k.certificate()
		},
	}
	if len(members) == len(protocols) {
		return c
	}
	joins := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{JoinProtocol},
		SessionTicketsDisabled: true,
		GetCertificate:         c.GetCertificate,
		VerifyConnection:       agreed,
	}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Equal(hello.SupportedProtos, joins.NextProtos) {
			return joins, nil
		}
		return nil, nil // the one that it belongs to
	}
	return c
}

// JoinTLS returns the configuration of a process that joins. It accepts every certificate,
// for it knows no authority yet: JoinClient finds out who answers.
func JoinTLS() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{JoinProtocol},
		InsecureSkipVerify: true,
		VerifyConnection:   agreed,
	}
}

// Peer returns who is at the other end of a connection that TLS has checked.
func Peer(s tls.ConnectionState) (Identity, error) {
	if !s.HandshakeComplete || len(s.PeerCertificates) != 1 {
		return Identity{}, fmt.Errorf("%w: it has shown no certificate", ErrStranger)
	}
	return identityOf(s.PeerCertificates[0])
}

// certificate returns the one to show.
func (k *Keys) certificate() (*tls.Certificate, error) {
	c := k.now.Load()
	if c == nil {
		return nil, ErrNoCertificate
	}
	return &c.cert, nil
}

// verify checks what the other end has shown.
func (k *Keys) verify(s tls.ConnectionState) error {
	c := k.now.Load()
	if c == nil {
		return ErrNoCertificate
	}
	if len(s.PeerCertificates) != 1 {
		return fmt.Errorf("%w: it has shown %d certificates, must be one", ErrStranger, len(s.PeerCertificates))
	}
	id, err := accepted(s.PeerCertificates[0], c.roots)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if id.Cluster != c.id.Cluster {
		return fmt.Errorf("%w: it belongs to cluster %s, this is %s", ErrStranger, id.Cluster, c.id.Cluster)
	}
	return agreed(s)
}

// agreed checks that the two ends have agreed on a protocol. TLS lets an end pass that names none.
func agreed(s tls.ConnectionState) error {
	if s.NegotiatedProtocol == "" {
		return fmt.Errorf("%w: it has named no protocol", ErrStranger)
	}
	return nil
}
