package pki

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Caps of what is read, in bytes.
const (
	MaxFrame  = 4 << 10  // a frame of a process that has not proved anything yet
	MaxAnswer = 64 << 10 // the frame with the answer of a head
)

// Sizes and counts in the messages.
const (
	nonceSize = 32
	proofSize = 32
	maxTokens = 4 // two while one replaces the other, and room for one that was forgotten
	maxReason = 4 << 10
)

// joinVersion is that of the messages in this file. What follows the join has versions of its own.
const joinVersion = 1

// magic begins each hello, so that another protocol is told from another version.
const magic = "ERJ"

// Errors of the conversation.
var (
	ErrMalformed  = errors.New("malformed join message")
	ErrWrongToken = errors.New("wrong token")
)

// VersionError is the error of two ends that speak different versions of the messages.
type VersionError struct {
	Peer         string
	Theirs, Ours uint8
}

// Error names the versions and what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s joins clusters with version %d of the protocol, this program with version %d: install the same version of eagleray on both machines",
		e.Peer, e.Theirs, e.Ours)
}

// RefusedError says why a head that has proved itself did not let this process in.
type RefusedError struct{ Peer, Reason string }

// Error is the head's reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the head at %s refused: %s", e.Peer, e.Reason)
}

// Ask is what a joining process says after the head has proved itself.
type Ask struct {
	Request []byte // for a certificate, from Keys.Request; empty on a channel without TLS
	Body    []byte // of the caller's

	Proved Token // at the head: which of its tokens the process has
}

// Answer is what a head gives a process that it lets in.
type Answer struct {
	Cert        []byte   // for Keys.Install; empty on a channel without TLS
	Authorities [][]byte // for Keys.Install
	Body        []byte   // of the caller's
}

// readFrame reads one frame: a length of four bytes and what it counts.
func readFrame(r io.Reader, most uint32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > most {
		return nil, fmt.Errorf("%w: a frame of %d bytes, at most %d are read", ErrMalformed, n, most)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, noEOF(err)
	}
	return body, nil
}

// noEOF makes the end of a connection in the middle of a frame an error of its own.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func writeFrame(w io.Writer, body []byte) error {
	_, err := w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

// hello is the first message of each end. The joiner's has no proofs.
func hello(nonce []byte) []byte {
	return append(append([]byte(magic), joinVersion), nonce...)
}

// readHello takes a hello apart.
func readHello(b []byte, peer string) (nonce, rest []byte, err error) {
	if len(b) < len(magic)+1 || string(b[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("%w: %s does not join or serve a cluster", ErrMalformed, peer)
	}
	if v := b[len(magic)]; v != joinVersion {
		return nil, nil, &VersionError{Peer: peer, Theirs: v, Ours: joinVersion}
	}
	b = b[len(magic)+1:]
	if len(b) < nonceSize {
		return nil, nil, fmt.Errorf("%w: a hello without a nonce", ErrMalformed)
	}
	return b[:nonceSize], b[nonceSize:], nil
}

// appendField appends a text with its length.
func appendField(b, field []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(field))), field...)
}

// takeField takes a text off the front.
func takeField(b []byte) (field, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("%w: it ends early", ErrMalformed)
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; uint64(n) > uint64(len(b)) {
		return nil, nil, fmt.Errorf("%w: a field of %d bytes of which %d are there", ErrMalformed, n, len(b))
	}
	return b[:n], b[n:], nil
}

func (a Ask) encode() []byte { return appendField(appendField(nil, a.Request), a.Body) }

func parseAsk(b []byte) (a Ask, err error) {
	if a.Request, b, err = takeField(b); err != nil {
		return Ask{}, err
	}
	if a.Body, b, err = takeField(b); err != nil {
		return Ask{}, err
	}
	return a, nothing(b)
}

// The first byte of an answer.
const (
	admitted = 1
	refused  = 2
)

// encode returns the answer as it travels; a reason refuses.
func (a Answer) encode(reason error) []byte {
	if reason != nil {
		text := reason.Error()
		return append([]byte{refused}, text[:min(len(text), maxReason)]...)
	}
	b := appendField([]byte{admitted}, a.Cert)
	b = append(b, byte(len(a.Authorities)))
	for _, der := range a.Authorities {
		b = appendField(b, der)
	}
	return appendField(b, a.Body)
}

func parseAnswer(b []byte, peer string) (a Answer, err error) {
	if len(b) == 0 {
		return Answer{}, fmt.Errorf("%w: an empty answer", ErrMalformed)
	}
	kind, b := b[0], b[1:]
	switch {
	case kind == refused:
		return Answer{}, &RefusedError{Peer: peer, Reason: string(b)}
	case kind != admitted:
		return Answer{}, fmt.Errorf("%w: an answer of kind %d", ErrMalformed, kind)
	}
	if a.Cert, b, err = takeField(b); err != nil {
		return Answer{}, err
	}
	if len(b) == 0 || int(b[0]) > maxAuthorities {
		return Answer{}, fmt.Errorf("%w: the number of authorities is missing or above %d", ErrMalformed, maxAuthorities)
	}
	count, b := b[0], b[1:]
	for range count {
		var der []byte
		if der, b, err = takeField(b); err != nil {
			return Answer{}, err
		}
		a.Authorities = append(a.Authorities, der)
	}
	if a.Body, b, err = takeField(b); err != nil {
		return Answer{}, err
	}
	return a, nothing(b)
}

// nothing is the rule that a message ends where its last field does.
func nothing(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes behind its end", ErrMalformed, len(b))
	}
	return nil
}
