package raftstate

import (
	"context"
	"fmt"
	"strconv"

	"github.com/eagleray/eagleray/core/fault"
)

// Level says which commands and which layout of a snapshot this build knows. While heads are upgraded one after the other, the log may have only commands that all of
// them know: a member that does not know one cannot go on. So each head notes its level in the cluster's state. When all heads have noted a higher one, the head that leads commits
// it as the level in use (Reign.RaiseLevel). Commands of a higher level than that in use are refused, and snapshots have a layout that heads of that
// level read. A member that meets a level in use that is higher than its own stops: ErrNewerState.
//
//	1  heads that vote, as of the first release with several of them
//	2  the keys of Go programs (KeyWrite, KeyLeaseGrant, KeyLeaseEnd, KeyReign) and Mark
//	3  large values as files of the heads (CodeBlob, ActorBlobs, KVBlob)
//	4  placement groups (GroupCreate, GroupPlaced, GroupRemove)
//	5  nodes that are drained (NodeDrain)
//
// A build with a new command raises Level, and names the command in levelOf; one with a new layout of snapshots, or a new version of one of their records, names it in
// imageLayouts. A level is never used again. Nothing sets Level while a program runs.
var Level = 5 + len(ahead)

// ahead is empty. Tests of upgrades link a second build with one letter here, which is then one level ahead of these sources.
var ahead string

// levelSetting has the level in use. Without it, which is so in a state of level 1 or 2, Options.Lowest says what all heads know.
const levelSetting = "level"

// ErrLevel: a head of an older build does not know the command yet.
var ErrLevel = fault.New(fault.BadRequest, "a head of the cluster is of an older release, which does not know this change: replace that head first (`eagleray heads list`)")

// ErrNewerState: all heads of the cluster were of a newer release than this one.
var ErrNewerState = fault.New(fault.VersionMismatch, "all heads of this cluster have been upgraded to a newer release, which may have changed its state in ways that this release does not know. Start this head with the release of the other heads")

// Level returns the level in use; 0: nobody has noted one yet.
func (m *Machine) Level() int {
	n, err := strconv.Atoi(string(m.settings[levelSetting]))
	if err != nil {
		return 0
	}
	return n
}

// Level returns the level in use, as this member's state shows it; 0: nobody has noted one yet.
func (n *Node) Level() (level int) {
	n.fsm.view(func(m *Machine) { level = m.Level() })
	return level
}

// RaiseLevel makes a level that all heads know the one in use. There is no way back.
func (r *Reign) RaiseLevel(ctx context.Context, level int) error {
	if used := r.member.Level(); level <= used {
		return nil
	}
	return r.PutSetting(ctx, levelSetting, []byte(strconv.Itoa(level)))
}

// tooNew returns ErrNewerState for a machine whose level in use is higher than a build's.
func tooNew(m *Machine, level int) error {
	if used := m.Level(); used > level {
		return fmt.Errorf("%w (level %d is in use, and this release knows levels up to %d)", ErrNewerState, used, level)
	}
	return nil
}

// levelOf is the first level that knows the kind.
func levelOf(k Kind) int {
	switch k {
	case KindKeyWrite, KindKeyLeaseGrant, KindKeyLeaseEnd, KindKeyReign, KindMark:
		return 2
	case KindCodeBlob, KindActorBlobs, KindKVBlob:
		return 3
	case KindGroupCreate, KindGroupPlaced, KindGroupRemove:
		return 4
	case KindNodeDrain:
		return 5
	}
	return 1
}

// known returns ErrLevel for a command that not all heads know.
func (n *Node) known(b Body) error {
	level := levelOf(b.kind())
	if level <= 1 {
		return nil
	}
	used := n.Level()
	if used == 0 && n.opts.Lowest != nil {
		used = n.opts.Lowest(level)
	} else if used == 0 {
		used = level
	}
	if used < level {
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
