package pki

import (
	"crypto/ed25519"
	"crypto/x509"
	"fmt"
)

// The form in which an authority was sealed before there were keyrings, with one token.
const (
	formerVersion = 1
	maxFormer     = 4 << 10
	formerSize    = len(Cluster{}) + ed25519.SeedSize // of what stands before the certificate
)

// OpenAuthority decrypts an authority that a release before there were keyrings has sealed with the token.
func OpenAuthority(sealed []byte, t Token) (*Authority, error) {
	if len(sealed) < 1 || len(sealed) > maxFormer || sealed[0] != formerVersion {
		return nil, fmt.Errorf("%w: it has %d bytes and is of a form that this program does not read", ErrSealed, len(sealed))
	}
	plain, err := openWith(t.derive("sealed authority"), sealed[1:], sealed[:1])
	if err != nil {
		return nil, fmt.Errorf("%w: the %v is not the one that it was sealed with, or the bytes are damaged", ErrSealed, t)
	}
	if len(plain) < formerSize {
		return nil, fmt.Errorf("%w: it holds %d bytes", ErrSealed, len(plain))
	}
	a := &Authority{cluster: Cluster(plain[:len(Cluster{})]), key: ed25519.NewKeyFromSeed(plain[len(Cluster{}):formerSize])}
	if a.cert, err = x509.ParseCertificate(plain[formerSize:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	if public, ok := a.cert.PublicKey.(ed25519.PublicKey); !ok || !public.Equal(a.key.Public()) {
		return nil, fmt.Errorf("%w: its key is not that of its certificate", ErrSealed)
	}
	return a, nil
}
