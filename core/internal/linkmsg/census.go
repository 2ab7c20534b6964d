package linkmsg

import (
	"bytes"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The messages between the daemons of two nodes about what a node does (package census). Their numbers are never reused.
const (
	TCensus wire.Type = 238 // call: CensusAsk → wire.NodeCensus, as EncodePart makes it
	TUse    wire.Type = 239 // call: nothing → wire.NodeUse, as EncodePart makes it
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

// EncodePart returns what a node answers: a struct of package wire. It is a map, so that releases with other fields read what they know, and
// its empty fields are left out, because most fields of most rows are. EncodePart returns false if the answer has more than most bytes.
func EncodePart(v any, most int) (b msgpack.RawMessage, fits bool, err error) {
	var body bytes.Buffer
	e := msgpack.NewEncoder(&body)
	e.UseCompactInts(true)
	e.SetOmitEmpty(true)
	if err := e.Encode(v); err != nil {
		return nil, false, fault.New(fault.Internal, "what a node does cannot be sent: %v", err)
	}
	if body.Len() > most {
		return nil, false, nil
	}
	return body.Bytes(), true, nil
}

// DecodePart reads what EncodePart has made.
func DecodePart(b []byte, v any) error { return Decode("what another node does", b, MaxPart, v) }
