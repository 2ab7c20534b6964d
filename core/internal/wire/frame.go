package wire

import (
	"encoding/binary"
	"errors"

	"github.com/eagleray/eagleray/core/fault"
)

// Version of the protocol. Processes of one session share a build, so a
// different version is refused. In a cluster, work stays on nodes whose processes have the version of its driver's node.
var Version = 10 + len(ahead)

// ahead is empty. Tests of upgrades link a second build with one letter here, which is then one version ahead of these sources.
var ahead string

// EnvelopeVersion is the version of the six fields around a control message's body. The connections between nodes have
// a version of their own for the bodies (package linkmsg), so that two builds may talk which agree on the envelope only.
const EnvelopeVersion = 1

// Caps of what is read off a socket, in bytes.
const (
	MaxHandshake = 4 << 10   // frames before the hello was accepted
	MaxControl   = 64 << 20  // one control frame
	MaxData      = 64 << 20  // one frame on a task socket
	MaxPending   = 256 << 20 // unsent bytes of one peer before it is cut off
)

// MaxAmounts bounds the resources that one task or actor may ask for. Clients check
// it when they are asked, the daemon when it reads.
const MaxAmounts = 1 << 16

// Errors of framing.
var (
	ErrFrameTooLarge error = fault.New(fault.BadRequest, "frame exceeds its cap")
	ErrBadFrame            = errors.New("malformed frame")
	ErrPeerClosed          = errors.New("connection closed")
)

// AppendFrame appends payload as one frame to dst.
func AppendFrame(dst, payload []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}
