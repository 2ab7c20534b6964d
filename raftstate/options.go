package raftstate

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Options configure a Node. Only ID is needed: that is the embedded session, a
// single voter that keeps everything in memory and reaches nobody.
type Options struct {
	// ID names this member among the heads; the node's id in hex.
	ID string
	// Voters are the first members, this one among them; every first member
	// gets the same list. Empty: only this one. Ignored when the stores are
	// not empty.
	Voters []Voter
	// Transport carries raft's messages. Nil: there are no others. It can be a
	// Leaver.
	Transport raft.Transport
	// Forwarder carries commands to the leader. Needed when there are others.
	Forwarder Forwarder
	// Stores keep the log. Zero: memory.
	Stores Stores
	// Timing of elections. Zero: DefaultTiming.
	Timing Timing
	// Blobs keeps large values as files. Nil: they are in the state.
	Blobs Blobs
	// Lowest returns the lowest Level of all heads, or the wanted one if none is lower. It is asked while the state names no level in use. Nil: all are of this build.
	Lowest func(wanted int) int
	// KeptEvents is how many events late watchers can still get. Zero: 8192,
	// and 1024 for a member on its own whose log is in memory.
	KeptEvents int
	// LogOutput gets raft's warnings. Nil: nobody.
	LogOutput io.Writer

	// CompactEntries is after how many commands the log is shortened by a snapshot. Zero: 8192, and 256 for a member on its
	// own whose log is in memory.
	CompactEntries int
	// TrailingLogs is how many entries stay in the log behind a snapshot, for members that lag a little. Zero: 4096, and 1 for
	// a member on its own.
	TrailingLogs uint64

	compactBytes int // tests make it small
	level        int // tests play an older build; 0: Level
}

// Leaver is a Transport that is told when raft ends: what waits there for
// another member has to return then.
type Leaver interface{ Leave() }

// Voter is a member of the raft group.
type Voter struct {
	ID      string
	Address string // as the transport knows it
}

// Timing is how fast a silent leader is noticed and replaced: kill to first
// commit takes about twice the heartbeat timeout.
type Timing struct {
	Heartbeat time.Duration // silence after which a follower stands for election
	Election  time.Duration // how long a vote may take
	Lease     time.Duration // silence after which a leader steps down; at most Heartbeat
	Commit    time.Duration // idle time after which followers learn the commit index
}

// DefaultTiming: below 300 ms a loaded machine with 2 cores loses its leaders.
var DefaultTiming = Timing{
	Heartbeat: 500 * time.Millisecond,
	Election:  500 * time.Millisecond,
	Lease:     400 * time.Millisecond,
	Commit:    50 * time.Millisecond,
}

const (
	defaultKeptEvents = 8192
	singleKeptEvents  = 1024
	// The log is compacted after so many entries, or bytes in them.
	compactEntries = 8192
	compactBytes   = 32 << 20
	// Where nobody reads the snapshot it costs nothing, and what the log holds
	// is only in the way.
	singleCompactEntries = 256
	singleCompactBytes   = 1 << 20
	// Entries kept behind a snapshot, for followers that lag a little.
	trailingLogs       = 4096
	singleTrailingLogs = 1
	// raft's own check comes after ours, see fsm.grow.
	snapshotInterval = time.Hour
)

// complete checks the options and fills in what was left out.
func (o *Options) complete() error {
	if o.ID == "" {
		return errors.New("the member has no id")
	}
	if len(o.Voters) == 0 && o.Transport == nil {
		o.Voters = []Voter{{ID: o.ID, Address: o.ID}}
	}
	if len(o.Voters) > 1 && (o.Transport == nil || o.Forwarder == nil) {
		return fmt.Errorf("%d voters need a transport and a forwarder", len(o.Voters))
	}
	s := o.Stores
	if some := s.Log != nil || s.Stable != nil || s.Snapshots != nil; some && (s.Log == nil || s.Stable == nil || s.Snapshots == nil) {
		return errors.New("the stores must be given all three or not at all")
	}
	if o.Timing == (Timing{}) {
		o.Timing = DefaultTiming
	}
	if o.KeptEvents == 0 {
		o.KeptEvents = defaultKeptEvents
		if o.inMemory() {
			o.KeptEvents = singleKeptEvents
		}
	}
	if o.KeptEvents < 0 {
		return fmt.Errorf("%d kept events", o.KeptEvents)
	}
	if o.LogOutput == nil {
		o.LogOutput = io.Discard
	}
	entries, bytes := compactEntries, compactBytes
	if o.inMemory() {
		entries, bytes = singleCompactEntries, singleCompactBytes
	}
	if o.CompactEntries == 0 {
		o.CompactEntries = entries
	}
	if o.compactBytes == 0 {
		o.compactBytes = bytes
	}
	if o.TrailingLogs == 0 {
		o.TrailingLogs = trailingLogs
		if o.single() {
			o.TrailingLogs = singleTrailingLogs
		}
	}
	return nil
}

// single reports whether this member reaches no others.
func (o *Options) single() bool { return o.Transport == nil }

// inMemory reports whether this is an embedded session's member: nobody watches it from another process, and nothing of it is
// read again.
func (o *Options) inMemory() bool { return o.single() && o.Stores.Log == nil }

// config returns raft's configuration.
func (o *Options) config() *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(o.ID)
	c.HeartbeatTimeout = o.Timing.Heartbeat
	c.ElectionTimeout = o.Timing.Election
	c.LeaderLeaseTimeout = o.Timing.Lease
	c.CommitTimeout = o.Timing.Commit
	c.SnapshotInterval = snapshotInterval
	c.TrailingLogs = o.TrailingLogs
	c.BatchApplyCh = true
	c.ShutdownOnRemove = false // Close does that, after the commands under way
	c.NoLegacyTelemetry = true
	level := hclog.Warn
	if o.single() {
		c.PreVoteDisabled = true
		level = hclog.Error // that it heard from no leader is no news
	}
	c.Logger = hclog.New(&hclog.LoggerOptions{Name: "raft", Level: level, Output: o.LogOutput})
	return c
}

// servers returns the first configuration of the group.
func (o *Options) servers() raft.Configuration {
	var c raft.Configuration
	for _, v := range o.Voters {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(v.ID), Address: raft.ServerAddress(v.Address)})
	}
	return c
}
