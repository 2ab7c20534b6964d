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
	JoinNode   JoinKind = "node"   // a number for a new node
	JoinRenew  JoinKind = "renew"  // a new certificate for a node that has a number
	JoinEnded  JoinKind = "ended"  // to say that a node has ended, with all its processes
	JoinHead   JoinKind = "head"   // a number for a further head
	JoinHeads  JoinKind = "heads"  // to know where the heads are, and what they do
	JoinKeys   JoinKind = "keys"   // the present keys of the cluster, for a head of it that was away
	JoinChange JoinKind = "change" // to have the heads do something: see HeadChange
	JoinAdmin  JoinKind = "admin"  // to look after the cluster's keys
)

// HeadChange is what an administrator wants of the heads.
type HeadChange string

// The changes.
const (
	HeadVote     HeadChange = "vote"     // give the head a vote
	HeadRemove   HeadChange = "remove"   // remove the head for good
	HeadTransfer HeadChange = "transfer" // let the head lead; number 0 without Given: any other one
)

// Join is what a process says to a head behind its proof.
type Join struct {
	Version    int    `msgpack:"version"` // of the messages between nodes
	MinVersion int    `msgpack:"min"`
	Release    string `msgpack:"release"` // of Eagle Ray, for texts

	Kind   JoinKind `msgpack:"kind"`
	Node   ids.Node `msgpack:"node"`
	Reason string   `msgpack:"reason"` // JoinEnded: how the node has ended

	Head   HeadAt     `msgpack:"head,omitempty"`   // JoinHead: its name and its addresses. JoinKeys: its name and its number. JoinChange: the number
	Of     []byte     `msgpack:"of,omitempty"`     // JoinKeys: the cluster to which the head that asks belongs
	Given  bool       `msgpack:"given,omitempty"`  // JoinChange: Head has a number
	Change HeadChange `msgpack:"change,omitempty"` // JoinChange
	Admin  Admin      `msgpack:"admin"`            // JoinAdmin: what is wanted
}

// Joined is the head's answer.
type Joined struct {
	Version    int    `msgpack:"version"`
	MinVersion int    `msgpack:"min"`
	Release    string `msgpack:"release"`

	Identity string `msgpack:"identity"` // of the node or head, as pki.Identity.String; else empty

	Admin AdminAnswer `msgpack:"admin"`

	Heads     Heads        `msgpack:"heads"`                // as this head knows them
	Status    []HeadStatus `msgpack:"status,omitempty"`     // JoinHeads, of the head that leads
	Sealed    []byte       `msgpack:"sealed,omitempty"`     // JoinHead and JoinKeys: the keys of the cluster, sealed with its tokens
	Removed   bool         `msgpack:"removed,omitempty"`    // JoinKeys: the cluster has no such head, so it gets no keys
	NotLeader bool         `msgpack:"not_leader,omitempty"` // JoinHeads and JoinChange: the head that leads has to be asked
}

// HeadStatus is what the leading head knows of a head.
type HeadStatus struct {
	HeadAt
	Voter   bool   `msgpack:"voter"`
	Leads   bool   `msgpack:"leads"`
	Healthy bool   `msgpack:"healthy"` // it answers, and has nearly all of the state
	Why     string `msgpack:"why"`     // if it is not healthy
	Stored  uint64 `msgpack:"stored"`  // the last index that it has on its disk
}

// CheckRelease is CheckVersion with the releases of both sides in the error, which people know.
func CheckRelease(who, theirs, ours string, version, oldest int) error {
	if err := CheckVersion(who, version, oldest); err != nil {
		return fault.New(fault.VersionMismatch, "%s is Eagle Ray %s and this is Eagle Ray %s, which do not understand each other. %s (messages between heads and nodes: theirs have version %d and are understood from %d on, ours version %d and from %d on)",
			who, releaseText(theirs), releaseText(ours), whatToDo(version), version, oldest, Version, MinVersion)
	}
	return nil
}

// OtherRelease warns of two processes that understand each other although they are of different releases; empty: they are of the same.
func OtherRelease(who, theirs, ours string) string {
	if theirs == ours {
		return ""
	}
	return fmt.Sprintf("%s is Eagle Ray %s and this is Eagle Ray %s. They understand each other. While a cluster has nodes of two releases, the work of a program may stay on the nodes of its own release: install the same release on all machines, one after the other",
		who, releaseText(theirs), releaseText(ours))
}

func releaseText(release string) string {
	if release == "" {
		return "of an unknown release"
	}
	return fmt.Sprintf("%.40q", release)
}
