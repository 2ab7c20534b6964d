package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Versions of what nodes say to each other. A build talks to another one when each knows the version that the other one speaks.
//
// The processes of two nodes also talk to each other through the pipes, with the protocol of package wire, which both ends must have in the
// same version. So a version has two parts: the hundreds count the bodies of this package, the rest is the version of package wire. A node of
// another build is then refused when it joins, and not when the first task is sent to it, which would wait without end.
const (
	Version    = bodies*100 + wire.Version
	MinVersion = Version
)

// bodies is the version of the bodies of this package. 2: a head serves the key-value store of Go programs.
const bodies = 2

// MaxHello bounds the body of a Hello and of a Welcome, in bytes.
const MaxHello = 4 << 10

// MaxQuestion bounds the body of a short question, in bytes.
const MaxQuestion = 4 << 10

// Hello is what a node says first on each connection.
type Hello struct {
	Version    int `msgpack:"version"`
	MinVersion int `msgpack:"min"`

	Node   uint32   `msgpack:"node"`    // the node's number
	ID     ids.Node `msgpack:"id"`      // the node's long name
	Client [16]byte `msgpack:"client"`  // a random name of the node's process
	First  uint64   `msgpack:"reports"` // the oldest report that the node keeps or will make next

	// Connection is the number of this connection among those that the process has made. It is larger on a newer one.
	Connection uint64 `msgpack:"conn"`

	// What the node remembers of the head's process that it talked to before.
	Boot   [16]byte `msgpack:"boot"`
	Orders uint64   `msgpack:"orders"` // the last order of that process that was taken
}

// Welcome answers a Hello.
type Welcome struct {
	Version    int `msgpack:"version"`
	MinVersion int `msgpack:"min"`

	Boot    [16]byte `msgpack:"boot"`    // a random name of the head's process
	Reports uint64   `msgpack:"reports"` // the last report that arrived, committed or not
	Orders  uint64   `msgpack:"orders"`  // the oldest order that the head keeps or will give next

	// DeadMs is after how much silence the head declares a node dead, in milliseconds; 0: it wants no heartbeats.
	DeadMs int64 `msgpack:"dead_ms"`
}

// CheckVersion returns an error that names both versions when a peer of that version cannot be talked to. Who says who
// the peer is: "the head", "node 3".
func CheckVersion(who string, version, oldest int) error {
	if version < MinVersion || oldest > Version {
		return fault.New(fault.VersionMismatch, "%s speaks version %d of the messages between nodes and understands versions from %d on; this process speaks version %d and understands versions from %d on. Install the same release of Eagle Ray on all machines",
			who, version, oldest, Version, MinVersion)
	}
	return nil
}
