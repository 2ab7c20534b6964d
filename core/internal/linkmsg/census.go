package linkmsg

import (
	"bytes"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The messages between the daemons of two nodes about what a node does (package census). Their numbers are never reused.
const (
	TCensus wire.Type = 238 // call: CensusAsk → Part, a wire.NodeCensus
	TUse    wire.Type = 239 // call: nothing → Part, a wire.NodeUse
)

// MaxPart bounds the answers, in bytes. They travel between messages that somebody waits for.
const MaxPart = 8 << 20

// CensusAsk says which rows of a node's census the asker wants, and how many.
type CensusAsk struct {
	Limit     int   `msgpack:"limit"`   // the rows of each kind that one process sends at most
	Rows      int   `msgpack:"rows"`    // of all processes
	TimeoutMs int64 `msgpack:"timeout"` // how long a process may take to answer
	Objects   bool  `msgpack:"objects"`
	Tasks     bool  `msgpack:"tasks"`
}

// Part is what a node answers. The body is a struct of package wire as processes send it, and can be read by a node
// with the same wire.Version.
type Part struct {
	Wire int    `msgpack:"wire"`
	Body []byte `msgpack:"body"`
}

// EncodePart returns a Part. It returns false if the part has more than most bytes.
func EncodePart(v any, most int) (b msgpack.RawMessage, fits bool, err error) {
	var body bytes.Buffer
	e := msgpack.NewEncoder(&body)
	e.UseCompactInts(true)
	e.UseArrayEncodedStructs(true)
	if err := e.Encode(v); err != nil {
		return nil, false, fault.New(fault.Internal, "what a node does cannot be sent: %v", err)
	}
	if body.Len() > most {
		return nil, false, nil
	}
	b, err = Encode("what a node does", &Part{Wire: wire.Version, Body: body.Bytes()})
	return b, true, err
}

// DecodePart reads a Part into v.
func DecodePart(b []byte, v any) error {
	const what = "what another node does"
	var p Part
	if err := Decode(what, b, MaxPart+1<<10, &p); err != nil {
		return err
	}
	if p.Wire != wire.Version {
		return fault.New(fault.VersionMismatch, "it runs another release: its processes speak protocol version %d, those of the node that asked version %d", p.Wire, wire.Version)
	}
	return Decode(what, p.Body, MaxPart, v)
}
