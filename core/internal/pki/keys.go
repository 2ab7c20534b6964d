package pki

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxAuthorities is how many authorities a cluster may have at a time: two while one
// replaces the other, and room for one that was forgotten.
const maxAuthorities = 4

// ErrCertificate is the error of a certificate that this process cannot use.
var ErrCertificate = errors.New("unusable certificate")

// Keys are the private key of this process, which is never written anywhere, and the
// certificate that goes with it.
type Keys struct {
	key ed25519.PrivateKey
	now atomic.Pointer[installed]

	installing sync.Mutex
	dropped    func() // see OnDrop; installing guards it
}

// installed is a certificate with the authorities whose certificates this process accepts.
type installed struct {
	id        Identity
	cert      tls.Certificate
	roots     *x509.CertPool
	list      [][]byte // the authorities (DER)
	from, end time.Time
}

// NewKeys makes a private key.
func NewKeys() (*Keys, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("private key: %w", err)
	}
	return &Keys{key: key}, nil
}

// OnDrop has a function called after each Install without an authority that counted before: what that one has signed does not count any more, and connections
// that were checked before it must end.
func (k *Keys) OnDrop(dropped func()) {
	k.installing.Lock()
	defer k.installing.Unlock()
	k.dropped = dropped
}

// Request returns a request (DER) for a certificate, the first one or the next one.
func (k *Keys) Request() ([]byte, error) {
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, k.key)
	if err != nil {
		return nil, fmt.Errorf("certificate request: %w", err)
	}
	return csr, nil
}

// Install takes a certificate and the authorities (DER). Connections that begin from now on
// use them. It returns what the certificate says; when it fails, nothing changes.
func (k *Keys) Install(cert []byte, authorities [][]byte) (Identity, error) {
	if len(authorities) == 0 || len(authorities) > maxAuthorities {
		return Identity{}, fmt.Errorf("%w: it came with %d authorities, must be 1 to %d", ErrCertificate, len(authorities), maxAuthorities)
	}
	roots := x509.NewCertPool()
	for _, der := range authorities {
		root, err := x509.ParseCertificate(der)
		if err != nil {
			return Identity{}, fmt.Errorf("%w: authority: %w", ErrCertificate, err)
		}
		roots.AddCert(root)
	}
	leaf, err := x509.ParseCertificate(cert)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	if public, ok := leaf.PublicKey.(ed25519.PublicKey); !ok || !public.Equal(k.key.Public()) {
		return Identity{}, fmt.Errorf("%w: it is for another key", ErrCertificate)
	}
	id, err := accepted(leaf, roots)
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return Identity{}, fmt.Errorf("%w: %w: the clocks of the two machines are days apart: set them right and try again", ErrCertificate, err)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	dropped := k.put(&installed{
		id: id, roots: roots, list: slices.Clone(authorities), from: leaf.NotBefore, end: leaf.NotAfter,
		cert: tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: k.key, Leaf: leaf},
	})
	if dropped != nil {
		dropped()
	}
	return id, nil
}

// put lets a certificate and its authorities count from now on. It returns what is to be called then; nil: nothing.
func (k *Keys) put(next *installed) func() {
	k.installing.Lock()
	defer k.installing.Unlock()
	if before := k.now.Swap(next); before != nil && Drops(before.list, next.list) {
		return k.dropped
	}
	return nil
}

// Drops reports whether one of the authorities before (DER) is missing from those afterwards.
func Drops(before, after [][]byte) bool {
	return slices.ContainsFunc(before, func(one []byte) bool {
		return !slices.ContainsFunc(after, func(other []byte) bool { return bytes.Equal(one, other) })
	})
}

// RenewAt returns when half of the certificate's time is over; zero without a certificate.
func (k *Keys) RenewAt() time.Time {
	c := k.now.Load()
	if c == nil {
		return time.Time{}
	}
	return c.from.Add(c.end.Sub(c.from) / 2)
}

// accepted checks a certificate against the authorities and returns what it says.
func accepted(leaf *x509.Certificate, roots *x509.CertPool) (Identity, error) {
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: roots, CurrentTime: time.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return Identity{}, err
	}
	return identityOf(leaf)
}
