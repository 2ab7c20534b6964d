package pki

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Bounds of a keyring.
const (
	maxRevoked    = 1024 // numbers; older ones are dropped when their certificates have ended
	maxKeyring    = 256 << 10
	keyringFormat = 2 // the first byte of a sealed one; 1 is that of a sealed authority
	wrappedSize   = 12 + 32 + 16
)

// Keyring is what the heads of a cluster have in common to tell who belongs to it. It is kept in their state, sealed under each of its
// tokens: a head that knows one of them can open it.
type Keyring struct {
	Cluster     Cluster
	Version     uint64       // grows with each change
	Tokens      []Token      // the oldest one first; two while one replaces the other
	Authorities []*Authority // the same; none without TLS
	Signing     int          // which one of the authorities signs
	Revoked     []Revocation
}

// Revocation is a member whose certificate does not count any more.
type Revocation struct {
	Number uint32    `json:"number"`
	At     time.Time `json:"at"`
	Why    string    `json:"why"`
}

// ErrKeyring is the error of a keyring that cannot be opened, and of a change that it does not allow.
var ErrKeyring = errors.New("keyring")

// NewKeyring makes that of a new cluster. It has an authority unless the cluster goes without TLS.
func NewKeyring(c Cluster, t Token, insecure bool, now time.Time) (*Keyring, error) {
	k := &Keyring{Cluster: c, Version: 1, Tokens: []Token{t}}
	if insecure {
		return k, nil
	}
	a, err := NewAuthority(c, now)
	k.Authorities = []*Authority{a}
	return k, err
}

// Signer returns the authority that signs; nil without TLS.
func (k *Keyring) Signer() *Authority {
	if len(k.Authorities) == 0 {
		return nil
	}
	return k.Authorities[k.Signing]
}

// Certificates returns those of all authorities (DER).
func (k *Keyring) Certificates() (list [][]byte) {
	for _, a := range k.Authorities {
		list = append(list, a.Certificate())
	}
	return list
}

// IsRevoked reports whether a member was revoked.
func (k *Keyring) IsRevoked(number uint32) bool {
	return slices.ContainsFunc(k.Revoked, func(r Revocation) bool { return r.Number == number })
}

// clone returns a copy that can be changed, with the next version.
func (k *Keyring) clone() *Keyring {
	c := *k
	c.Version++
	c.Tokens, c.Authorities, c.Revoked = slices.Clone(k.Tokens), slices.Clone(k.Authorities), slices.Clone(k.Revoked)
	return &c
}

// AddToken returns the keyring with a further token. If it is the further one already, the keyring is returned as it is: whoever has not heard the answer
// asks again.
func (k *Keyring) AddToken(t Token) (*Keyring, error) {
	n := k.TokenNumber(t)
	switch {
	case n > 1 && n == len(k.Tokens):
		return k, nil
	case n > 0:
		return nil, fmt.Errorf("%w: the cluster has this token already", ErrKeyring)
	case len(k.Tokens) > 1:
		return nil, fmt.Errorf("%w: a token is being replaced already: end the old one with `eagleray token finish`, or the new one with `eagleray token withdraw`", ErrKeyring)
	}
	c := k.clone()
	c.Tokens = append(c.Tokens, t)
	return c, nil
}

// KeepToken returns the keyring with one token only, which must be the newest.
func (k *Keyring) KeepToken(t Token) (*Keyring, error) {
	switch n := k.TokenNumber(t); {
	case len(k.Tokens) == 1:
		return nil, fmt.Errorf("%w: there is one token only, so nothing is to be finished", ErrKeyring)
	case n != len(k.Tokens):
		return nil, fmt.Errorf("%w: this is to be said with the new token, so that it is sure that it is known", ErrKeyring)
	}
	c := k.clone()
	c.Tokens = c.Tokens[len(c.Tokens)-1:]
	return c, nil
}

// WithdrawToken returns the keyring without the newest token, which was to replace the one that is given.
func (k *Keyring) WithdrawToken(t Token) (*Keyring, error) {
	switch {
	case len(k.Tokens) == 1:
		return nil, fmt.Errorf("%w: there is one token only, so nothing is to be withdrawn", ErrKeyring)
	case k.TokenNumber(t) != 1:
		return nil, fmt.Errorf("%w: this is to be said with the old token, so that it is sure that it is known", ErrKeyring)
	}
	c := k.clone()
	c.Tokens = c.Tokens[:1]
	return c, nil
}

// TokenNumber returns which of the tokens one is, from 1; 0: none of them.
func (k *Keyring) TokenNumber(t Token) int {
	if t.missing() {
		return 0
	}
	return 1 + slices.IndexFunc(k.Tokens, t.equal)
}

// TokenOfTag returns which of the tokens has made a tag, from 1; 0: none of them.
func (k *Keyring) TokenOfTag(tag []byte, said string) int {
	return 1 + slices.IndexFunc(k.Tokens, func(t Token) bool { return hmac.Equal(tag, t.Tag(said)) })
}

// AddAuthority returns the keyring with a further authority, which members accept and which signs nothing yet.
func (k *Keyring) AddAuthority(now time.Time) (*Keyring, error) {
	switch len(k.Authorities) {
	case 0:
		return nil, fmt.Errorf("%w: the cluster goes without TLS, and has no authority", ErrKeyring)
	case 1:
	default:
		return nil, fmt.Errorf("%w: the authority is being replaced already", ErrKeyring)
	}
	a, err := NewAuthority(k.Cluster, now)
	if err != nil {
		return nil, err
	}
	c := k.clone()
	c.Authorities = append(c.Authorities, a)
	return c, nil
}

// Step returns the next step of a replacement, when all members have taken the last one: the new authority signs, and then the old one
// does not count any more. It returns nil when there is nothing to do.
func (k *Keyring) Step() *Keyring {
	if len(k.Authorities) < 2 {
		return nil
	}
	c := k.clone()
	if last := len(k.Authorities) - 1; k.Signing < last {
		c.Signing = last
	} else {
		c.Authorities, c.Signing = c.Authorities[last:], 0
	}
	return c
}

// Revoke returns the keyring with a further revoked member. Those whose certificates have ended are forgotten.
func (k *Keyring) Revoke(number uint32, why string, now time.Time) (*Keyring, error) {
	c := k.clone()
	c.Revoked = slices.DeleteFunc(c.Revoked, func(r Revocation) bool { return r.Number == number || now.Sub(r.At) > certificateLife+backdate })
	if len(c.Revoked) >= maxRevoked {
		return nil, fmt.Errorf("%w: %d members are revoked, which is as many as are remembered; replace the authority, after which none of their certificates counts", ErrKeyring, maxRevoked)
	}
	c.Revoked = append(c.Revoked, Revocation{Number: number, At: now.UTC(), Why: why})
	return c, nil
}

// Short is a name of an authority for people: the beginning of the hash of its certificate.
func (a *Authority) Short() string {
	sum := sha256.Sum256(a.Certificate())
	return hex.EncodeToString(sum[:4])
}

// Seed is the private key in hexadecimal digits. It is for a test that looks for it everywhere.
func (a *Authority) Seed() string { return hex.EncodeToString(a.key.Seed()) }

// Tag shows which token a process has, to those who know it, without telling it. said is what the tag is about: it must never come
// from somebody else.
func (t Token) Tag(said string) []byte {
	if t.missing() {
		return nil
	}
	mac := hmac.New(sha256.New, t.derive("tag"))
	mac.Write([]byte(said))
	return mac.Sum(nil)
}

func (t Token) equal(o Token) bool {
	a, b := t.key(), o.key()
	return hmac.Equal(a[:], b[:])
}

// stored is a keyring as it is sealed.
type stored struct {
	Cluster     []byte            `json:"cluster"`
	Version     uint64            `json:"version"`
	Tokens      []storedToken     `json:"tokens"`
	Authorities []storedAuthority `json:"authorities"`
	Signing     int               `json:"signing"`
	Revoked     []Revocation      `json:"revoked"`
}

type storedToken struct {
	Key  []byte `json:"key"`
	From string `json:"from"`
}

type storedAuthority struct {
	Seed        []byte `json:"seed"`
	Certificate []byte `json:"certificate"`
}

// Seal encrypts the keyring under a random key, and that key under each token. Each call gives other bytes.
func (k *Keyring) Seal() ([]byte, error) {
	s := stored{Cluster: k.Cluster[:], Version: k.Version, Signing: k.Signing, Revoked: k.Revoked}
	for _, t := range k.Tokens {
		key := t.key()
		s.Tokens = append(s.Tokens, storedToken{key[:], t.from})
	}
	for _, a := range k.Authorities {
		s.Authorities = append(s.Authorities, storedAuthority{a.key.Seed(), a.cert.Raw})
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeyring, err)
	}
	var key [tokenSize]byte
	_, _ = rand.Read(key[:])
	head := []byte{keyringFormat, byte(len(k.Tokens))}
	b := slices.Clone(head)
	for _, t := range k.Tokens {
		b = append(b, sealWith(t.derive("sealed keyring"), key[:], head)...)
	}
	return append(b, sealWith(key[:], plain, head)...), nil
}

// OpenKeyring decrypts what Seal has made, with one of the tokens.
func OpenKeyring(b []byte, t Token) (*Keyring, error) {
	if len(b) < 2 || len(b) > maxKeyring || b[0] != keyringFormat || b[1] == 0 || int(b[1]) > maxTokens || len(b) < 2+int(b[1])*wrappedSize {
		return nil, fmt.Errorf("%w: %w: it has %d bytes and is of a form that this program does not read", ErrKeyring, ErrSealed, len(b))
	}
	head, rest, count := b[:2], b[2:], int(b[1])
	var key []byte
	for i := range count {
		if opened, err := openWith(t.derive("sealed keyring"), rest[i*wrappedSize:(i+1)*wrappedSize], head); err == nil {
			key = opened
		}
	}
	if len(key) != tokenSize {
		return nil, fmt.Errorf("%w: %w: the %v is none of those that it was sealed with, or the bytes are damaged", ErrKeyring, ErrSealed, t)
	}
	plain, err := openWith(key, rest[count*wrappedSize:], head)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: the bytes are damaged", ErrKeyring, ErrSealed)
	}
	return parseKeyring(plain)
}

func parseKeyring(plain []byte) (*Keyring, error) {
	bad := func(what string) (*Keyring, error) {
		return nil, fmt.Errorf("%w: %w: its %s", ErrKeyring, ErrSealed, what)
	}
	var s stored
	if err := json.Unmarshal(plain, &s); err != nil || len(s.Cluster) != len(Cluster{}) {
		return bad("content is damaged")
	}
	k := &Keyring{Cluster: Cluster(s.Cluster), Version: s.Version, Signing: s.Signing, Revoked: s.Revoked}
	for _, t := range s.Tokens {
		if len(t.Key) != tokenSize {
			return bad("tokens are damaged")
		}
		k.Tokens = append(k.Tokens, tokenOf([tokenSize]byte(t.Key), t.From))
	}
	for _, one := range s.Authorities {
		cert, err := x509.ParseCertificate(one.Certificate)
		if err != nil || len(one.Seed) != ed25519.SeedSize {
			return bad("authorities are damaged")
		}
		a := &Authority{cluster: k.Cluster, key: ed25519.NewKeyFromSeed(one.Seed), cert: cert}
		if public, ok := cert.PublicKey.(ed25519.PublicKey); !ok || !public.Equal(a.key.Public()) {
			return bad("authority's key is not that of its certificate")
		}
		k.Authorities = append(k.Authorities, a)
	}
	if len(k.Tokens) == 0 || len(k.Tokens) > maxTokens || len(k.Authorities) > maxAuthorities || k.Signing < 0 || k.Signing >= max(len(k.Authorities), 1) {
		return bad("numbers of tokens and authorities make no sense")
	}
	return k, nil
}
