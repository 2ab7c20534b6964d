package relay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A target is magic, what the connection is for, and the number of the node at the other end.
const (
	magic      = "relay"
	forSession = 1
	forBulk    = 2
	targetSize = len(magic) + 1 + 4
)

// ErrRefused: the head does not carry the connection. The text around it says why.
var ErrRefused = errors.New("the head does not carry the connection")

const (
	opened  = 1
	refused = 2
	maxText = 1 << 10
)

// Target is what a stream is opened with that is to be carried to a node; and, at that node, what the stream from the head was opened with, with the
// number of the node that has asked. Bulk says that the connection is for much data.
func Target(node uint32, bulk bool) []byte {
	kind := byte(forSession)
	if bulk {
		kind = forBulk
	}
	return binary.LittleEndian.AppendUint32(append([]byte(magic), kind), node)
}

// ParseTarget reads a target. It returns false if the bytes are none.
func ParseTarget(b []byte) (node uint32, bulk, ok bool) {
	if len(b) != targetSize || string(b[:len(magic)]) != magic {
		return 0, false, false
	}
	kind := b[len(magic)]
	return binary.LittleEndian.Uint32(b[len(magic)+1:]), kind == forBulk, kind == forSession || kind == forBulk
}

// Answer reads what the head says first: nil if the other node's bytes follow.
func Answer(r io.Reader) error {
	var head [3]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return fmt.Errorf("answer of the head: %w", err)
	}
	n := int(binary.LittleEndian.Uint16(head[1:]))
	if head[0] != opened && head[0] != refused || n > maxText {
		return fmt.Errorf("answer of the head: %d with %d bytes is none", head[0], n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return fmt.Errorf("answer of the head: %w", err)
	}
	if head[0] == refused {
		return fmt.Errorf("%w: %s", ErrRefused, text)
	}
	return nil
}

func answer(status byte, text string) []byte {
	text = text[:min(len(text), maxText)]
	return append(binary.LittleEndian.AppendUint16([]byte{status}, uint16(len(text))), text...)
}
