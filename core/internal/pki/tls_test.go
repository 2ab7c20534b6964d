package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// meet does the TLS handshake over a connection, and has both ends say a byte. It returns the
// numbers that the two ends see at the other one.
func meet(t testing.TB, x, y net.Conn, client, server *tls.Config) (seen [2]uint32, err error) {
	t.Helper()
	type end struct {
		number uint32
		err    error
	}
	speak := func(c *tls.Conn) (e end) {
		defer func() {
			if e.err != nil {
				c.NetConn().Close() // the other end waits for it
			}
		}()
		if e.err = c.Handshake(); e.err != nil {
			return e
		}
		id, err := Peer(c.ConnectionState())
		if err != nil {
			return end{0, err}
		}
		go func() { _, _ = c.Write([]byte{1}) }()
		_, err = c.Read(make([]byte, 1)) // TLS 1.3: only this tells a client that it was accepted
		return end{id.Number, err}
	}
	far := make(chan end, 1)
	go func() { far <- speak(tls.Server(y, server)) }()
	near := speak(tls.Client(x, client))
	other := <-far
	x.Close()
	y.Close()
	return [2]uint32{near.number, other.number}, errors.Join(near.err, other.err)
}

func TestTLS_MembersOfOneCluster_SeeEachOther(t *testing.T) {
	a := newAuthority(t, Cluster{1})
	x, y := sockets(t)
	seen, err := meet(t, x, y, member(t, a, RoleNode, 5).TLS("link"), member(t, a, RoleHead, 6).TLS("raft", "link"))
	if err != nil || seen != [2]uint32{6, 5} {
		t.Errorf("they see %v, %v", seen, err)
	}
}

func TestTLS_TwoAuthorities_MembersOfBothMeet(t *testing.T) {
	old, next := newAuthority(t, Cluster{1}), newAuthority(t, Cluster{1})
	both := func(by *Authority, number uint32) *Keys {
		k := member(t, by, RoleNode, number)
		cert, err := by.Sign(request(t, k), Identity{Cluster: Cluster{1}, Role: RoleNode, Number: number}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Install(cert, [][]byte{old.Certificate(), next.Certificate()}); err != nil {
			t.Fatal(err)
		}
		return k
	}
	x, y := sockets(t)
	if seen, err := meet(t, x, y, both(old, 1).TLS("link"), both(next, 2).TLS("link")); err != nil || seen != [2]uint32{2, 1} {
		t.Errorf("they see %v, %v", seen, err)
	}
}

func TestTLS_WhoIsNoMember_IsRefused(t *testing.T) {
	a := newAuthority(t, Cluster{1})
	good := func() *tls.Config { return member(t, a, RoleNode, 1).TLS("link") }
	change := func(f func(*tls.Config)) *tls.Config {
		c := good()
		f(c)
		return c
	}
	empty, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*tls.Config{
		"of another authority": member(t, newAuthority(t, Cluster{1}), RoleNode, 1).TLS("link"),
		"of another cluster":   otherCluster(t, a).TLS("link"),
		"no certificate": change(func(c *tls.Config) {
			c.GetCertificate = nil
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tls.Certificate{}, nil }
		}),
		"nothing installed yet": empty.TLS("link"),
		"signed by itself":      change(func(c *tls.Config) { signsItself(t, c) }),
		"TLS 1.2":               change(func(c *tls.Config) { c.MinVersion = tls.VersionTLS12; c.MaxVersion = tls.VersionTLS12 }),
		"another protocol":      member(t, a, RoleNode, 1).TLS("raft"),
		"no protocol":           change(func(c *tls.Config) { c.NextProtos = nil; c.VerifyConnection = nil }),
		"a chain of two":        change(func(c *tls.Config) { longer(c, a) }),
	} {
		for _, dials := range []bool{true, false} {
			x, y := sockets(t)
			client, server := c, good()
			if !dials {
				client, server = good(), c
			}
			if seen, err := meet(t, x, y, client, server); err == nil {
				t.Errorf("%s (it dials: %v) was seen as %v", name, dials, seen)
			}
		}
	}
}

// otherCluster returns keys that say they belong to another cluster, by the authority of this one.
func otherCluster(t *testing.T, a *Authority) *Keys {
	k, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	liar := *a
	liar.cluster = Cluster{2}
	enroll(t, k, &liar, Identity{Cluster: Cluster{2}, Role: RoleNode, Number: 1}, time.Now())
	return k
}

func show(c *tls.Config, shown *tls.Certificate) {
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return shown, nil }
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return shown, nil }
}

func signsItself(t *testing.T, c *tls.Config) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	show(c, &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key})
}

func longer(c *tls.Config, a *Authority) {
	cert, _ := c.GetCertificate(nil)
	more := *cert
	more.Certificate = [][]byte{cert.Certificate[0], a.Certificate()}
	show(c, &more)
}

func TestTLS_JoinIsServed_GivesNoOtherProtocolWithoutCertificate(t *testing.T) {
	head := member(t, newAuthority(t, Cluster{1}), RoleHead, 1)
	for name, protocols := range map[string][]string{"link": {"link"}, "join and link": {JoinProtocol, "link"}, "link and join": {"link", JoinProtocol}} {
		c := JoinTLS()
		c.NextProtos = protocols
		x, y := sockets(t)
		if seen, err := meet(t, x, y, c, head.TLS("link", JoinProtocol)); err == nil {
			t.Errorf("%s: they see %v", name, seen)
		}
	}
	// Who does not serve joins lets nobody join, and who joins reaches nothing else.
	for name, server := range map[string]*tls.Config{"no head": head.TLS("link"), "a head": head.TLS("link", JoinProtocol)} {
		x, y := sockets(t)
		done := make(chan error, 1)
		go func() {
			defer y.Close()
			_, err := OverTLS(t.Context(), tls.Server(y, server))
			done <- err
		}()
		_, err := OverTLS(t.Context(), tls.Client(x, JoinTLS()))
		if joins := err == nil && arrives(t, done, "the server's end") == nil; joins != (name == "a head") {
			t.Errorf("%s: %v", name, err)
		}
	}
	x, y := sockets(t)
	go func() { _ = tls.Server(y, head.TLS("link")).Handshake() }()
	if _, err := OverTLS(t.Context(), tls.Client(x, member(t, newAuthority(t, Cluster{1}), RoleNode, 1).TLS("link"))); err == nil {
		t.Error("a channel to join over another protocol")
	}
}

func TestTLS_SecondConnection_IsNotResumed(t *testing.T) {
	a := newAuthority(t, Cluster{1})
	client, server := member(t, a, RoleNode, 1).TLS("link"), member(t, a, RoleHead, 2).TLS("link")
	client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	client.ServerName = "x"
	for range 3 {
		x, y := sockets(t)
		c := tls.Client(x, client)
		done := make(chan error, 1)
		go func() {
			s := tls.Server(y, server)
			err := s.Handshake()
			_, _ = s.Write([]byte{1})
			done <- err
		}()
		if err := c.Handshake(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := arrives(t, done, "the server's handshake"); err != nil {
			t.Fatal(err)
		}
		if c.ConnectionState().DidResume {
			t.Error("a connection was resumed: its certificate was not looked at again")
		}
	}
}

// slow is a connection on which some time goes by before each write.
type slow struct {
	net.Conn
	wait time.Duration
}

func (s slow) Write(b []byte) (int, error) {
	time.Sleep(s.wait)
	return s.Conn.Write(b)
}

func TestTLS_CertificateEndsWithinTheHandshake_IsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		left  time.Duration // that the certificate of the server is still valid for
		wants bool
	}{"ends in between": {time.Second, false}, "ends soon after": {time.Minute, true}} {
		synctest.Test(t, func(t *testing.T) {
			a := newAuthority(t, Cluster{1})
			client, server := member(t, a, RoleNode, 1), member(t, a, RoleHead, 2)
			enroll(t, server, a, Identity{Cluster: Cluster{1}, Role: RoleHead, Number: 2}, time.Now().Add(backdate-certificateLife+c.left))
			x, y := net.Pipe()
			defer x.Close()
			defer y.Close()
			began := time.Now()
			for _, end := range []net.Conn{x, y} { // the pipe has no room for an alert and an answer at once
				if err := end.SetDeadline(began.Add(time.Minute)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := meet(t, slow{x, 2 * time.Second}, slow{y, 2 * time.Second}, client.TLS("link"), server.TLS("link"))
			if (err == nil) != c.wants || time.Since(began) < 2*time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			if !c.wants && !strings.Contains(err.Error(), "expired") {
				t.Errorf("%s: the reason is %v", name, err)
			}
			synctest.Wait()
		})
	}
}

func TestTLS_NewCertificate_IsUsedByTheNextConnection(t *testing.T) {
	a := newAuthority(t, Cluster{1})
	k := member(t, a, RoleNode, 1)
	server, other := k.TLS("link"), member(t, a, RoleHead, 2)
	enroll(t, k, a, Identity{Cluster: Cluster{1}, Role: RoleNode, Number: 77}, time.Now())
	x, y := sockets(t)
	if seen, err := meet(t, x, y, other.TLS("link"), server); err != nil || seen != [2]uint32{77, 2} {
		t.Errorf("they see %v, %v", seen, err)
	}
	if _, err := Peer(tls.ConnectionState{HandshakeComplete: true}); !errors.Is(err, ErrStranger) {
		t.Errorf("a peer without a certificate: %v", err)
	}
}
