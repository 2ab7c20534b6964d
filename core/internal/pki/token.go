package pki

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// Sizes of a token and of its text.
const (
	tokenSize    = 32
	minTokenText = 16      // characters; a shorter one is guessed too easily
	maxTokenText = 4 << 10 // bytes
)

// tokenRounds is how often a text is hashed that is not 256 random bits: a head proves
// itself to everybody who asks, so a text that people have thought of can be guessed
// offline, and each guess must cost something: some tenths of a second.
const tokenRounds = 600_000

// ErrBadToken is the error of a text that cannot be a token, and of a token file that other
// users may read.
var ErrBadToken = errors.New("unusable token")

// Token is the secret that all machines of a cluster share. The zero Token is none.
type Token struct {
	key  func() [tokenSize]byte // a function, because fmt prints what unexported fields hold
	from string
}

// NewToken makes a random token. From says in messages where it is kept.
func NewToken(from string) Token {
	var key [tokenSize]byte
	_, _ = rand.Read(key[:]) // never fails: crypto/rand ends the program instead
	return tokenOf(key, from)
}

// ParseToken returns the token that a text stands for: 64 hexadecimal digits are the token
// itself, any other text of at least 16 characters is hashed. From is the file or the
// variable that holds the text. Space around the text does not count.
func ParseToken(text, from string) (Token, error) {
	if len(text) > maxTokenText {
		return Token{}, fmt.Errorf("%w: %s holds %d bytes, a token has at most %d", ErrBadToken, from, len(text), maxTokenText)
	}
	text = strings.TrimSpace(text)
	if len(text) == 0 {
		return Token{}, fmt.Errorf("%w: %s is empty", ErrBadToken, from)
	}
	if len(text) < minTokenText {
		return Token{}, fmt.Errorf("%w: %s holds %d characters, which can be guessed; a token has at least %d, best 64 random hexadecimal digits",
			ErrBadToken, from, len(text), minTokenText)
	}
	if len(text) == hex.EncodedLen(tokenSize) {
		if key, err := hex.DecodeString(text); err == nil {
			return tokenOf([tokenSize]byte(key), from), nil
		}
	}
	key, err := pbkdf2.Key(sha256.New, text, []byte("eagleray token of a text"), tokenRounds, tokenSize)
	if err != nil {
		return Token{}, fmt.Errorf("%w: hash the text of %s: %w", ErrBadToken, from, err)
	}
	return tokenOf([tokenSize]byte(key), from), nil
}

// IsTokenText reports whether a text is a token itself, which costs nothing to read.
func IsTokenText(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == hex.EncodedLen(tokenSize)
}

// SameText compares two secrets in a time that tells nothing of them.
func SameText(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// Equal reports whether two tokens are the same, in a time that tells nothing of them.
func (t Token) Equal(o Token) bool { return !t.missing() && !o.missing() && t.equal(o) }

func tokenOf(key [tokenSize]byte, from string) Token {
	return Token{key: func() [tokenSize]byte { return key }, from: from}
}

// missing reports whether the token is the zero Token.
func (t Token) missing() bool { return t.key == nil }

// From returns the file or variable that the token came from.
func (t Token) From() string { return t.from }

// Text returns what ParseToken reads. It is the secret: it goes to a file of mode 0600 and
// nowhere else.
func (t Token) Text() string { key := t.key(); return hex.EncodeToString(key[:]) }

// String names the token without telling it.
func (t Token) String() string { return "token from " + t.from }

// Format is String for all verbs, so that no verb prints the secret.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// LogValue is String for slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// derive returns 32 bytes for one purpose.
func (t Token) derive(purpose string) []byte {
	secret := t.key()
	key, err := hkdf.Key(sha256.New, secret[:], nil, "eagleray "+purpose, 32)
	if err != nil {
		panic(err) // the length is a constant that SHA-256 allows
	}
	return key
}
