package linkmsg

import (
	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// Versions of what heads and nodes say to each other. A build speaks Version and the one before it, so heads and nodes can be upgraded one after the
// other. Two sides whose ranges meet settle on the lower version (Settle).
//
//	207  the last one that had the version of package wire in it, which was 7
//	208  a hello says which version of package wire the node's processes speak
//	209  placement groups: orders and reports about bundles, and bundles in a stock
//
// The processes of two nodes also talk to each other through the pipes, with the protocol of package wire, which both ends must have in the same
// version. The head takes care of that: it brings work to nodes only that fit (package place).
var (
	Version    = 209 + len(ahead)
	MinVersion = Version - 1
)

// ahead is empty. Tests of upgrades link a second build with one letter here, which is then one version ahead of these sources.
var ahead string

// saysWire is the first version in which a hello has Wire, and lastWire is what all processes spoke before.
const (
	saysWire = 208
	lastWire = 7
)

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
	Wire   int      `msgpack:"wire"`    // the version of package wire that the node's processes speak; see WireOf

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

// WireOf returns the version of package wire that the processes of the node speak.
func (h *Hello) WireOf() int {
	if h.Version < saysWire {
		return lastWire
	}
	return h.Wire
}

// Settle returns the version that this build and a peer speak with each other: the lower one of the two that they speak. The error names both when there
// is none. Who says who the peer is: "the head", "node 3".
func Settle(who string, version, oldest int) (int, error) {
	if version < MinVersion || oldest > Version {
		return 0, fault.New(fault.VersionMismatch, "%s speaks version %d of the messages between heads and nodes and understands versions from %d on; this process speaks version %d and understands versions from %d on. %s",
			who, version, oldest, Version, MinVersion, whatToDo(version))
	}
	return min(version, Version), nil
}

// whatToDo says which side has to be upgraded.
func whatToDo(theirs int) string {
	if theirs < Version {
		return "Upgrade the other side first to a release in between, or install the same release of Eagle Ray on all machines"
	}
	return "Upgrade this side first to a release in between, or install the same release of Eagle Ray on all machines"
}

// CheckVersion returns the error of Settle.
func CheckVersion(who string, version, oldest int) error {
	_, err := Settle(who, version, oldest)
	return err
}
