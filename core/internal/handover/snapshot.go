package handover

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/snapshot"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Version is the version of Snapshot. Change it with every change of the types in this
// file, or of the snapshots in it, or of the meaning of a field. Version 1 was a
// document that did not carry its version.
const Version = 5

// most bounds each list of a snapshot.
const most = 1 << 24

// Snapshot is everything that a successor needs to continue in the place of a worker.
// Descriptors travel beside it: first the worker's listener, then one for each entry of
// Served, Links, Sockets and Guests, in that order.
type Snapshot struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",as_array"`
	Version  int      // the first field in every version
	Refs     refs.Snapshot
	Submit   snapshot.Submitter
	Served   []Served
	Links    []Link
	Sockets  []Socket // of Submit.Channels
	Guests   []Guest
}

// Served is a control connection that a borrower has opened, with the borrower's
// questions that wait for an answer.
type Served struct {
	Owner     []byte
	State     wire.State
	Questions []Question
}

// Question is a borrower's question for an object.
type Question struct {
	Object []byte
	ID     uint64
}

// Link is a control connection to an owner from which this process borrows.
type Link struct {
	Addr     string
	State    wire.State
	GiveBack [][]byte // objects of which the owner has not been told that they are given back
	Again    bool     // some references were not acknowledged: register all of the owner's again
}

// Socket holds the bytes that wait in the socket of a channel.
type Socket struct {
	Unread []byte // it has arrived and is not handled
	Unsent []byte
}

// Guest is the connection to the daemon of another node.
type Guest struct {
	Node      uint32
	ID        []byte // of the node
	RoundTrip uint64 // ns; 0: not known
	State     wire.State
}

// Connections returns how many descriptors go with the snapshot, apart from the listener.
func (s *Snapshot) Connections() int {
	return len(s.Served) + len(s.Links) + len(s.Sockets) + len(s.Guests)
}

// Encode returns the bytes of a snapshot. It sets the version.
func Encode(s *Snapshot) ([]byte, error) {
	s.Version = Version
	b, err := msgpack.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write down what is handed over: %w", err)
	}
	return b, nil
}

// Decode reads a snapshot and validates it.
func Decode(body []byte) (*Snapshot, error) {
	if err := wire.Check(body, most); err != nil {
		return nil, err
	}
	if err := checkVersion(body); err != nil {
		return nil, err
	}
	s := new(Snapshot)
	if err := msgpack.Unmarshal(body, s); err != nil {
		return nil, err
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return s, nil
}

// checkVersion refuses a snapshot of another version, before anything else of it is
// decoded: another version may have other fields.
func checkVersion(body []byte) error {
	d := msgpack.NewDecoder(bytes.NewReader(body))
	n, err := d.DecodeArrayLen()
	if err == nil && n < 1 {
		err = errors.New("it is empty")
	}
	version := 0
	if err == nil {
		version, err = d.DecodeInt()
	}
	if err != nil {
		return fmt.Errorf("the snapshot does not begin with its version: %w", err)
	}
	if version != Version {
		return fmt.Errorf("the snapshot has version %d, and this successor reads version %d", version, Version)
	}
	return nil
}

// Validate refuses a snapshot that no worker can have written.
func (s *Snapshot) Validate() error {
	if err := s.Refs.Validate(); err != nil {
		return err
	}
	if err := s.Submit.Validate(); err != nil {
		return err
	}
	if n, m := len(s.Sockets), len(s.Submit.Channels); n != m {
		return fmt.Errorf("the snapshot has %d sockets for %d channels", n, m)
	}
	for i := range s.Served {
		x := &s.Served[i]
		if n := len(x.Owner); n != ids.OwnerSize {
			return fmt.Errorf("the id of a borrower has %d bytes", n)
		}
		for _, q := range x.Questions {
			if _, err := ids.ParseObject(q.Object); err != nil {
				return fmt.Errorf("a borrower's question: %w", err)
			}
		}
	}
	for i := range s.Links {
		for _, id := range s.Links[i].GiveBack {
			if _, err := ids.ParseObject(id); err != nil {
				return fmt.Errorf("an object that is given back to %s: %w", s.Links[i].Addr, err)
			}
		}
	}
	return s.validateGuests()
}

// validateGuests refuses connections to nodes that cannot be.
func (s *Snapshot) validateGuests() error {
	seen := map[uint32]bool{}
	for i := range s.Guests {
		x := &s.Guests[i]
		switch {
		case x.Node == 0:
			return errors.New("a connection leads to node 0, which does not exist")
		case seen[x.Node]:
			return fmt.Errorf("two connections lead to the daemon of node %d", x.Node)
		case len(x.ID) != ids.NodeSize:
			return fmt.Errorf("the id of node %d has %d bytes", x.Node, len(x.ID))
		case x.RoundTrip > uint64(time.Minute):
			return fmt.Errorf("an answer of node %d takes %d ns", x.Node, x.RoundTrip)
		}
		seen[x.Node] = true
	}
	return nil
}
