package pki

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// Validity of certificates.
const (
	backdate        = 48 * time.Hour // how far the clocks of two machines may differ
	certificateLife = 30 * 24 * time.Hour
	authorityLife   = 10 * 365 * 24 * time.Hour
	maxRequest      = 2 << 10 // bytes of a certificate request
	maxSerialBits   = 128
)

// Errors of an authority.
var (
	ErrBadRequest = errors.New("unusable certificate request")
	ErrSealed     = errors.New("it cannot be opened")
)

// Authority signs the certificates of one cluster.
type Authority struct {
	cluster Cluster
	key     ed25519.PrivateKey
	cert    *x509.Certificate
}

// NewAuthority makes the authority of a cluster.
func NewAuthority(c Cluster, now time.Time) (*Authority, error) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("key of the authority: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "Eagle Ray cluster " + c.String()},
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(-backdate + authorityLife),
		IsCA:         true, MaxPathLenZero: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("certificate of the authority: %w", err)
	}
	return &Authority{cluster: c, key: key, cert: cert}, nil
}

// Cluster returns whose authority it is.
func (a *Authority) Cluster() Cluster { return a.cluster }

// Certificate returns the authority's own certificate (DER), which every member of the
// cluster has.
func (a *Authority) Certificate() []byte { return a.cert.Raw }

// Sign returns a certificate (DER) for the key of a request that Keys.Request has made. The
// names in the request do not count: id is what the certificate says.
func (a *Authority) Sign(request []byte, id Identity, now time.Time) ([]byte, error) {
	if id.Cluster != a.cluster || !id.valid() {
		return nil, fmt.Errorf("%w: %s, asked of the authority of cluster %s", ErrBadIdentity, id, a.cluster)
	}
	if len(request) > maxRequest {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrBadRequest, len(request), maxRequest)
	}
	csr, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	key, ok := csr.PublicKey.(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%w: its key is of kind %v, must be Ed25519", ErrBadRequest, csr.PublicKeyAlgorithm)
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: who asks does not have the key: %w", ErrBadRequest, err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(-backdate + certificateLife),
		URIs:                  []*url.URL{id.url()},
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", id, err)
	}
	return der, nil
}

// sealWith encrypts and authenticates bytes, and what stands before them.
func sealWith(key, plain, before []byte) []byte {
	box := boxOf(key)
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce)
	return box.Seal(nonce, nonce, plain, before)
}

// openWith decrypts what sealWith has made.
func openWith(key, sealed, before []byte) ([]byte, error) {
	box := boxOf(key)
	if len(sealed) < box.NonceSize() {
		return nil, ErrSealed
	}
	return box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], before)
}

// boxOf returns the cipher of a key.
func boxOf(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has the right length
	}
	box, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	return box
}

func newSerial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), maxSerialBits))
	if err != nil {
		return nil, fmt.Errorf("serial number of a certificate: %w", err)
	}
	return n, nil
}
