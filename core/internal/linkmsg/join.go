package linkmsg

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/ids"
)

// JoinKind is what a process wants that has proved that it knows the cluster's token.
type JoinKind string

// The kinds.
const (
	JoinNode  JoinKind = "node"  // a number for a new node
	JoinRenew JoinKind = "renew" // a new certificate for a node that has a number
	JoinEnded JoinKind = "ended" // to say that a node has ended, with all its processes
	JoinAdmin JoinKind = "admin" // to look after the cluster's keys
)

// Join is what a process says to a head behind its proof.
type Join struct {
	Version    int    `msgpack:"version"` // of the messages between nodes
	MinVersion int    `msgpack:"min"`
	Release    string `msgpack:"release"` // of Eagle Ray, for texts

	Kind   JoinKind `msgpack:"kind"`
	Node   ids.Node `msgpack:"node"`
	Reason string   `msgpack:"reason"` // JoinEnded: how the node has ended
	Admin  Admin    `msgpack:"admin"`  // JoinAdmin: what is wanted
}

// Joined is the head's answer.
type Joined struct {
	Version    int    `msgpack:"version"`
	MinVersion int    `msgpack:"min"`
	Release    string `msgpack:"release"`

	Identity string `msgpack:"identity"` // of the node, as pki.Identity.String; JoinEnded and JoinAdmin: empty

	Admin AdminAnswer `msgpack:"admin"`
}

// CheckRelease is CheckVersion with the releases of both sides in the error, which people know.
func CheckRelease(who, theirs, ours string, version, oldest int) error {
	if err := CheckVersion(who, version, oldest); err != nil {
		return fault.New(fault.VersionMismatch, "%s is Eagle Ray %s and this is Eagle Ray %s, which do not understand each other: install the same release on all machines (%s)",
			who, releaseText(theirs), releaseText(ours), fmt.Sprintf("messages between nodes: theirs have version %d, ours version %d", version, Version))
	}
	return nil
}

// OtherRelease warns of two processes that understand each other although they are of different releases; empty: they are of the same.
func OtherRelease(who, theirs, ours string) string {
	if theirs == ours {
		return ""
	}
	return fmt.Sprintf("%s is Eagle Ray %s and this is Eagle Ray %s. They understand each other, but a cluster of two releases is not tested: install the same release on all machines, and start their nodes again",
		who, releaseText(theirs), releaseText(ours))
}

func releaseText(release string) string {
	if release == "" {
		return "of an unknown release"
	}
	return fmt.Sprintf("%.40q", release)
}
