package raftstate

import (
	"fmt"

	"github.com/eagleray/eagleray/core/fault"
)

// Level says which commands this build knows. While heads are upgraded one after the other, the log may have only commands that all of them know: a member that does not know one
// cannot go on. So each head notes its level in the cluster's state, and commands of a higher level than that of the lowest head are refused.
//
//	1  heads that vote, as of the first release with several of them
//	2  the keys of Go programs (KeyWrite, KeyLeaseGrant, KeyLeaseEnd, KeyReign) and Mark
//	3  large values as files of the heads (CodeBlob, ActorBlobs, KVBlob)
//
// A build with a new command raises Level, and names the command in levelOf. A level is never used again.
const Level = 3

// ErrLevel: a head of an older build does not know the command yet.
var ErrLevel = fault.New(fault.BadRequest, "a head of the cluster is of an older release, which does not know this change: replace that head first (`eagleray heads list`)")

// levelOf is the first level that knows the kind.
func levelOf(k Kind) int {
	switch k {
	case KindKeyWrite, KindKeyLeaseGrant, KindKeyLeaseEnd, KindKeyReign, KindMark:
		return 2
	case KindCodeBlob, KindActorBlobs, KindKVBlob:
		return 3
	}
	return 1
}

// known returns ErrLevel for a command that not all heads know.
func (n *Node) known(b Body) error {
	if level := levelOf(b.kind()); level > 1 && n.opts.Lowest != nil && n.opts.Lowest(level) < level {
		return fmt.Errorf("%s: %w", b.subject(), ErrLevel)
	}
	return nil
}

// noMark is a setting that there never is. Where not all heads know Mark, its removal is a command that changes nothing.
const noMark = "no/mark"

// markFor returns a command that changes nothing and that all heads know.
func (n *Node) markFor() Body {
	if n.known(&Mark{}) != nil {
		return &SettingDel{Name: noMark}
	}
	return &Mark{}
}
