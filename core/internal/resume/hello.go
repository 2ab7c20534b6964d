package resume

import (
	"encoding/binary"
	"fmt"
)

// Version of the frames and of what they mean. Both ends of a session have the same.
const Version = 1

// HelloSize is the length of a Hello on a connection.
const HelloSize = 56

// Hello is the first thing that each end says on a connection: who it is, and how far it has
// come. The end that dialed speaks first, and the other one answers.
type Hello struct {
	From, To uint32 // node numbers
	Boot     uint64 // of the session that says it
	PeerBoot uint64 // the peer's Boot, to which the session is bound, or which the peer's last answer said; 0: none yet
	Replaces uint64 // the boot number with which the peer's session was bound, as its last answer said; 0: it gave none
	Have     uint64 // the last frame of the peer that the session has received
	Dial     uint32 // the number of this connection at the end that dialed it; 0 in an answer
	Seen     uint32 // the highest Dial of the peer that the session had accepted when it dialed, or answers
	Window   uint32 // bytes of a stream that may be under way to this end
}

// Append appends the hello as it is sent: the version as a uint32, then the fields, little-endian.
func (h Hello) Append(b []byte) []byte {
	e := binary.LittleEndian
	b = e.AppendUint32(b, Version)
	b = e.AppendUint32(e.AppendUint32(b, h.From), h.To)
	b = e.AppendUint64(e.AppendUint64(b, h.Boot), h.PeerBoot)
	b = e.AppendUint64(e.AppendUint64(b, h.Replaces), h.Have)
	return e.AppendUint32(e.AppendUint32(e.AppendUint32(b, h.Dial), h.Seen), h.Window)
}

// ParseHello reads a hello of HelloSize bytes. The error wraps ErrHello.
func ParseHello(b []byte) (Hello, error) {
	if len(b) != HelloSize {
		return Hello{}, fmt.Errorf("%w: it has %d bytes, not %d", ErrHello, len(b), HelloSize)
	}
	e := binary.LittleEndian
	if v := e.Uint32(b); v != Version {
		return Hello{}, fmt.Errorf("%w: the peer speaks version %d, this process version %d: install the same release on both machines", ErrHello, v, Version)
	}
	h := Hello{
		From: e.Uint32(b[4:]), To: e.Uint32(b[8:]), Boot: e.Uint64(b[12:]), PeerBoot: e.Uint64(b[20:]), Replaces: e.Uint64(b[28:]),
		Have: e.Uint64(b[36:]), Dial: e.Uint32(b[44:]), Seen: e.Uint32(b[48:]), Window: e.Uint32(b[52:]),
	}
	if h.Boot == 0 {
		return Hello{}, fmt.Errorf("%w: its boot number is 0", ErrHello)
	}
	return h, nil
}
