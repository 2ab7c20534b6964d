package raftstate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/record"
)

// keyWrite is a command of level 2.
func keyWrite() Command {
	return Command{Body: &KeyWrite{Write: record.KeyWrite{Key: "k", Value: []byte("v")}}}
}

// While a head of an older build votes, the log has only what that head knows. Fresh reads work all the same.
func TestLevel_AHeadIsOlder_NewCommandsAreRefused(t *testing.T) {
	lowest := 1
	n, ctx := openWith(t, Options{Lowest: func(int) int { return lowest }}), testContext(t)
	write := keyWrite()
	if _, err := n.Apply(ctx, write); !errors.Is(err, ErrLevel) || !strings.Contains(err.Error(), "replace that head first") {
		t.Errorf("a command that an older head does not know: %v", err)
	}
	if err := n.PutSetting(ctx, "x", []byte("y")); err != nil {
		t.Errorf("a command that all know: %v", err)
	}
	before := n.Settings()
	if kind := n.markFor().kind(); kind != KindSettingDel {
		t.Errorf("a fresh read commits a command of kind %d, which an older head does not know", kind)
	}
	if err := n.commitMark(); err != nil || !reflect.DeepEqual(n.Settings(), before) {
		t.Errorf("a fresh read: %v; the settings are %q", err, n.Settings())
	}
	lowest = Level
	if _, err := n.Apply(ctx, write); err != nil {
		t.Errorf("all heads know it now: %v", err)
	}
	if kind := n.markFor().kind(); kind != KindMark {
		t.Errorf("a fresh read commits a command of kind %d", kind)
	}
}

// Each kind has the level that first knew it: a new kind must be named in levelOf, Level raised, and the kind added here.
func TestLevel_KindsOfEachLevel_AreTheseForEver(t *testing.T) {
	levels := map[int]string{
		1: "1 2 3 10 11 20 21 22 23 24 25 26 27 40 41 50 51",
		2: "60 61 62 63 70",
		3: "28 29 42",
		4: "30 31 32",
		5: "4",
	}
	got := map[int]string{}
	for k := Kind(0); k < 1<<12; k++ {
		if newBody(k) != nil {
			got[levelOf(k)] = strings.TrimSpace(fmt.Sprintf("%s %d", got[levelOf(k)], k))
		}
	}
	if !reflect.DeepEqual(got, levels) || len(levels) != Level {
		t.Errorf("the kinds by level are %v, want %v, and Level is %d", got, levels, Level)
	}
}

// The level in use is part of the state. It never falls, and from then on it is what counts.
func TestLevel_IsRaised_CountsForCommands(t *testing.T) {
	lowest := 1
	n, ctx := openWith(t, Options{Lowest: func(int) int { return lowest }}), testContext(t)
	r, err := n.Lead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write := keyWrite()
	for _, c := range []struct {
		raise, used int
		works       bool
	}{{0, 0, false}, {1, 1, false}, {Level, Level, true}, {1, Level, true}} {
		if err := r.RaiseLevel(ctx, c.raise); err != nil {
			t.Fatal(err)
		}
		_, err := n.Apply(ctx, write)
		if used := n.Level(); used != c.used || c.works != (err == nil) {
			t.Errorf("raised to %d: level %d is in use, want %d; a command of level 2: %v", c.raise, used, c.used, err)
		}
	}
}

// A head of an older release that comes back when a higher level is in use stops and says so, whether it reads that in the log or in a snapshot.
func TestLevel_InUseIsHigherThanThatOfTheBuild_TheMemberStops(t *testing.T) {
	for name, snapshot := range map[string]bool{"in the log": false, "in a snapshot": true} {
		stores := NewMemoryStores()
		_, transport := raft.NewInmemTransport("a")
		open := func(level int) (*Node, error) {
			return Open(Options{ID: "a", Voters: []Voter{{ID: "a", Address: "a"}}, Transport: transport, Forwarder: nobody{}, Stores: stores, level: level})
		}
		n, err := open(0)
		if err != nil {
			t.Fatal(err)
		}
		ctx := testContext(t)
		r, err := n.Lead(ctx)
		if err == nil {
			err = r.RaiseLevel(ctx, Level)
		}
		if err == nil && snapshot {
			err = n.raft.Snapshot().Error()
		}
		if err := errors.Join(err, n.Close()); err != nil {
			t.Fatal(err)
		}
		old, err := open(Level - 1)
		if err == nil {
			select {
			case <-old.Failed():
			case <-ctx.Done():
				t.Fatalf("%s: an older head goes on", name)
			}
			err = old.Err()
			_ = old.Close()
		}
		if want := fmt.Sprintf("level %d is in use, and this release knows levels up to %d", Level, Level-1); !errors.Is(err, ErrNewerState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if n, err = open(0); err != nil {
			t.Fatalf("%s: the head of the other heads' release: %v", name, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

// nobody is a Forwarder of a member that is alone.
type nobody struct{}

func (nobody) Forward(context.Context, string, string, []byte) ([]byte, error) {
	return nil, ErrNotLeader
}

// A build with a new layout of snapshots writes it when all heads know it, and the one before until then, which heads of the build before read.
func TestSnapshot_LayoutOfTheLevelInUse(t *testing.T) {
	former := imageLayouts
	next := append(slices.Clone(former), imageLayout{version: former[len(former)-1].version + 1, level: Level + 1})
	defer func() { imageLayouts = former }()
	for _, c := range []struct {
		level  int
		layout uint32
		older  bool // the build before reads it
	}{{0, next[0].version, true}, {Level, former[len(former)-1].version, true}, {Level + 1, next[len(next)-1].version, false}} {
		m := NewMachine()
		m.settings["x"] = []byte("y")
		if c.level > 0 {
			m.settings[levelSetting] = []byte(strconv.Itoa(c.level))
		}
		imageLayouts = next
		b := snapshot(t, m)
		if layout := binary.LittleEndian.Uint32(b[len(imageMagic):]); layout != c.layout {
			t.Errorf("level %d is in use: layout %d, want %d", c.level, layout, c.layout)
		}
		back, err := ReadSnapshot(bytes.NewReader(b))
		if err != nil || !bytes.Equal(snapshot(t, back), b) {
			t.Errorf("level %d is in use: read back: %v", c.level, err)
		}
		imageLayouts = former
		if _, err := ReadSnapshot(bytes.NewReader(b)); c.older != (err == nil) || err != nil && !errors.Is(err, ErrNewerSnapshot) {
			t.Errorf("level %d is in use: the build before reads: %v", c.level, err)
		}
	}
}
