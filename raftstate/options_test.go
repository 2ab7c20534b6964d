package raftstate

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func TestOptions_Complete_RefusesWhatCannotWork(t *testing.T) {
	_, transport := raft.NewInmemTransport("a")
	net := NewMemoryNet("a", "b")
	voters := []Voter{{ID: "a", Address: "a"}, {ID: "b", Address: "b"}}
	store := raft.NewInmemStore()
	for problem, o := range map[string]Options{
		"no id":                    {},
		"2 voters need":            {ID: "a", Voters: voters},
		"2 voters need a transp":   {ID: "a", Voters: voters, Forwarder: &port{net: net}},
		"transport and a forwarde": {ID: "a", Voters: voters, Transport: transport},
		"all three or not at all":  {ID: "a", Stores: Stores{Log: store}},
		"given all three":          {ID: "a", Stores: Stores{Stable: store}},
		"must be given all":        {ID: "a", Stores: Stores{Snapshots: raft.NewInmemSnapshotStore()}},
		"not at all":               {ID: "a", Stores: Stores{Log: store, Stable: store}},
		"all three":                {ID: "a", Stores: Stores{Log: store, Snapshots: raft.NewInmemSnapshotStore()}},
		"three or not":             {ID: "a", Stores: Stores{Stable: store, Snapshots: raft.NewInmemSnapshotStore()}},
		"-1 kept events":           {ID: "a", KeptEvents: -1},
	} {
		if err := o.complete(); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("got %v, want an error with %q", err, problem)
		}
	}
	for _, good := range []Options{
		{ID: "a", Voters: voters, Transport: transport, Forwarder: &port{net: net}},
		{ID: "a", Voters: voters[:1]},
		{ID: "a", Stores: Stores{Log: store, Stable: store, Snapshots: raft.NewInmemSnapshotStore()}},
	} {
		if err := good.complete(); err != nil {
			t.Error(err)
		}
	}
}

func TestOptions_Complete_FillsInWhatWasLeftOut(t *testing.T) {
	_, transport := raft.NewInmemTransport("a")
	lone, one := Options{ID: "a"}, Options{ID: "a", Transport: transport}
	for _, o := range []*Options{&lone, &one} {
		if err := o.complete(); err != nil {
			t.Fatal(err)
		}
		if o.Timing != DefaultTiming || o.LogOutput != io.Discard {
			t.Errorf("timing %v", o.Timing)
		}
	}
	if len(lone.Voters) != 1 || lone.Voters[0] != (Voter{ID: "a", Address: "a"}) || len(one.Voters) != 0 {
		t.Errorf("voters %v and %v", lone.Voters, one.Voters)
	}
	if lone.KeptEvents != singleKeptEvents || lone.CompactEntries != singleCompactEntries || lone.compactBytes != singleCompactBytes || lone.TrailingLogs != singleTrailingLogs {
		t.Errorf("a lone member keeps %+v", lone)
	}
	if one.KeptEvents != defaultKeptEvents || one.CompactEntries != compactEntries || one.compactBytes != compactBytes || one.TrailingLogs != trailingLogs {
		t.Errorf("one of several keeps %+v", one)
	}
	stores := Stores{Log: raft.NewInmemStore(), Stable: raft.NewInmemStore(), Snapshots: raft.NewInmemSnapshotStore()}
	durable := Options{ID: "a", Stores: stores, KeptEvents: 5, CompactEntries: 6, compactBytes: 7, TrailingLogs: 8}
	if err := durable.complete(); err != nil || durable.KeptEvents != 5 || durable.CompactEntries != 6 || durable.compactBytes != 7 || durable.TrailingLogs != 8 {
		t.Errorf("what was given is changed: %+v, %v", durable, err)
	}
	kept := Options{ID: "a", Stores: stores}
	if err := kept.complete(); err != nil || kept.CompactEntries != compactEntries || kept.compactBytes != compactBytes {
		t.Errorf("somebody may read the snapshot: %+v, %v", kept, err)
	}
}

func TestOptions_Config_PassesEverythingOn(t *testing.T) {
	timing := Timing{Heartbeat: 5 * time.Second, Election: 6 * time.Second, Lease: 4 * time.Second, Commit: 3 * time.Second}
	o := Options{ID: "a", Timing: timing, TrailingLogs: 9}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	c := o.config()
	got := Timing{Heartbeat: c.HeartbeatTimeout, Election: c.ElectionTimeout, Lease: c.LeaderLeaseTimeout, Commit: c.CommitTimeout}
	if got != timing || c.LocalID != "a" || c.TrailingLogs != 9 || c.SnapshotInterval != snapshotInterval {
		t.Errorf("got %+v", c)
	}
	if !c.BatchApplyCh || c.ShutdownOnRemove || !c.NoLegacyTelemetry || !c.PreVoteDisabled || c.Logger.IsWarn() {
		t.Errorf("got %+v", c)
	}
	_, o.Transport = raft.NewInmemTransport("a")
	if c := o.config(); c.PreVoteDisabled || !c.Logger.IsWarn() {
		t.Errorf("one of several: got %+v", c)
	}
	o.Voters = []Voter{{ID: "a", Address: "x"}, {ID: "b", Address: "y"}}
	servers := o.servers().Servers
	if len(servers) != 2 || servers[1].ID != "b" || servers[1].Address != "y" {
		t.Errorf("got %+v", servers)
	}
}

func TestMemoryNet_Forward_OnlyToWhomTheCablesReach(t *testing.T) {
	net := NewMemoryNet("a", "b")
	from, to := &port{net: net}, &port{net: net, node: &Node{}}
	net.ports["a"], net.ports["b"] = from, to
	refused := func(why, id string) {
		t.Helper()
		if _, err := from.Forward(context.Background(), id, "", nil); err == nil || !strings.Contains(err.Error(), id+" cannot be reached") {
			t.Errorf("%s: got %v", why, err)
		}
	}
	refused("it is unknown", "c")
	to.node = nil
	refused("it is not open", "b")
	to.node, to.cut = &Node{}, true
	refused("it is cut off", "b")
	to.cut, from.cut = false, true
	refused("the sender is cut off", "b")
}

func TestNode_Closed_LetsNobodyIn(t *testing.T) {
	n, err := Open(Options{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if !n.enter() {
		t.Fatal("an open member refuses a wait")
	}
	n.inside.Done()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n.enter() {
		t.Error("a closed member lets a wait for raft begin")
	}
}
