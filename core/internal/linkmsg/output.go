package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// The messages between the daemons of two nodes about what workers write (package joblogs). Their numbers are never reused.
const (
	TOutput    wire.Type = 232 // call, to the node of the job's driver: Output → OutputTaken
	TOutputEnd wire.Type = 233 // call, from there: OutputEnd → nothing, when all output has been given to the driver's node
)

// Bounds of one Output.
const (
	MaxOutput      = 8 << 20   // bytes of the body
	MaxOutputLines = 1 << 16   // lines
	MaxOutputText  = 256 << 10 // bytes of one text, and of one name
	MaxAddress     = 256       // bytes of a node's address
)

// Output carries what workers of a job have written on another node than the driver's. Without lines it says that the sender
// may run workers of the job.
type Output struct {
	Job     ids.Job      `msgpack:"job"`
	Address string       `msgpack:"addr"` // of the node on which the lines were written
	Lines   []OutputLine `msgpack:"lines"`
}

// OutputLine is a wire.LogLine. Its fields are those of wire.LogLine in the same order, so that one converts to the other.
type OutputLine struct {
	Pid      int    `msgpack:"pid,omitempty"`
	Name     string `msgpack:"name,omitempty"`
	Stderr   bool   `msgpack:"err,omitempty"`
	Carriage bool   `msgpack:"cr,omitempty"`
	Text     string `msgpack:"text,omitempty"`
	Source   string `msgpack:"src,omitempty"`
	Node     string `msgpack:"-"` // Output has the address
}

// OutputTaken answers an Output.
type OutputTaken struct {
	Wanted bool `msgpack:"wanted"` // the driver shows what workers write. Without that it shows warnings of the runtime only
}

// OutputEnd tells a node that the driver of a job leaves. Over says that the job ends with its driver.
type OutputEnd struct {
	Job  ids.Job `msgpack:"job"`
	Over bool    `msgpack:"over"`
}

// DecodeOutput reads the body of an Output.
func DecodeOutput(m *wire.Message) (*Output, error) {
	o := new(Output)
	if err := Decode(m.Type.String(), m.Body, MaxOutput, o); err != nil {
		return nil, err
	}
	if len(o.Lines) > MaxOutputLines {
		return nil, fault.New(fault.BadRequest, "a message carries %d lines of output, at most %d are allowed", len(o.Lines), MaxOutputLines)
	}
	if len(o.Address) > MaxAddress {
		return nil, fault.New(fault.BadRequest, "the address of a node has %d bytes, at most %d are allowed", len(o.Address), MaxAddress)
	}
	for i := range o.Lines {
		if l := &o.Lines[i]; len(l.Text) > MaxOutputText || len(l.Name) > MaxOutputText || len(l.Source) > MaxAddress || l.Pid < 0 {
			return nil, fault.New(fault.BadRequest, "a line of output of process %d has a text of %d bytes, a name of %d and a source of %d, at most %d, %d and %d are allowed",
				l.Pid, len(l.Text), len(l.Name), len(l.Source), MaxOutputText, MaxOutputText, MaxAddress)
		}
	}
	return o, nil
}
