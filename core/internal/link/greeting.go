package link

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// What a connection is for.
const (
	forLink = 1 // the session: frames of package resume
	forBulk = 2 // a bulk connection: what its users say
	forRaft = 3 // a connection between two heads on which they replicate the cluster's state
)

// The answers to a greeting.
const (
	accepted = 1
	refused  = 2 // the body says why
	stale    = 3 // the body is a hello, and the connection ends
	buried   = 4 // the node that dialed was declared dead; the body says why
)

const (
	magic       = "ERL"
	version     = 1
	maxText     = 1 << 10 // of a refusal, or of an identity
	maxProtocol = 32
	beginsTLS   = 22 // the first byte of a TLS handshake; no protocol here has a name of this length
	greetSize   = len(magic) + 1 + 1 + 4
)

// greeting is the first message of the end that dialed.
type greeting struct {
	kind byte
	to   uint32 // the node that it means to speak with
	body []byte // forLink: a resume.Hello
}

func (g greeting) encode() []byte {
	b := append([]byte(magic), version, g.kind)
	return appendBody(binary.LittleEndian.AppendUint32(b, g.to), g.body)
}

func readGreeting(r io.Reader) (greeting, error) {
	var head [greetSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return greeting{}, fmt.Errorf("greeting: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return greeting{}, fmt.Errorf("%w: it begins with %q", ErrGreeting, head[:len(magic)])
	}
	if v := head[len(magic)]; v != version {
		return greeting{}, fmt.Errorf("%w: version %d, this process has version %d: install the same release of eagleray on both machines", ErrGreeting, v, version)
	}
	g := greeting{kind: head[len(magic)+1], to: binary.LittleEndian.Uint32(head[len(magic)+2:])}
	body, err := readBody(r)
	g.body = body
	return g, err
}

func readReply(r io.Reader) (status byte, body []byte, err error) {
	var head [1]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, fmt.Errorf("answer: %w", err)
	}
	if head[0] < accepted || head[0] > buried {
		return 0, nil, fmt.Errorf("%w: answer %d", ErrGreeting, head[0])
	}
	body, err = readBody(r)
	return head[0], body, err
}

func appendBody(b, body []byte) []byte {
	body = body[:min(len(body), maxText)]
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(body))), body...)
}

func readBody(r io.Reader) ([]byte, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("%w: it ends early: %w", ErrGreeting, err)
	}
	n := binary.LittleEndian.Uint16(head[:])
	if int(n) > maxText {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrGreeting, n, maxText)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("%w: it ends early: %w", ErrGreeting, err)
	}
	return body, nil
}

// announce says which protocol a connection without TLS speaks; with TLS, ALPN does that.
func announce(c net.Conn, protocol string) error {
	_, err := c.Write(append([]byte{byte(len(protocol))}, protocol...))
	return err
}

// announced reads what announce wrote.
func announced(c net.Conn) (string, error) {
	var head [1]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", fmt.Errorf("protocol: %w", err)
	}
	if head[0] == beginsTLS {
		return "", fmt.Errorf("%w: it speaks TLS, which is off in this process: all nodes of a cluster use TLS, or none does", ErrGreeting)
	}
	if head[0] > maxProtocol {
		return "", fmt.Errorf("%w: it names no protocol", ErrGreeting)
	}
	name := make([]byte, head[0])
	if _, err := io.ReadFull(c, name); err != nil {
		return "", fmt.Errorf("protocol: %w", err)
	}
	if p := string(name); p == Protocol || p == pki.JoinProtocol {
		return p, nil
	}
	return "", fmt.Errorf("%w: protocol %q is not spoken here", ErrGreeting, name)
}

// isPath reports whether an address is a Unix socket.
func isPath(address string) bool { return strings.HasPrefix(address, "/") }
