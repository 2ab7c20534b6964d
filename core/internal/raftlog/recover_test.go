package raftlog

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// A member that is made the only one leads with what it had, and gives away no number again that a lost member may have given.
func TestRecover_OneOfThree_LeadsWithItsStateAndFreshNumbers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	folder := t.TempDir()
	net := raftstate.NewMemoryNet("a", "b", "c")
	members, dirs := map[string]*raftstate.Node{}, map[string]*Dir{}
	for _, id := range []string{"a", "b", "c"} {
		d, err := Open(filepath.Join(folder, id), Options{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := net.Open(id, raftstate.Options{Stores: d.Stores()})
		if err != nil {
			t.Fatal(err)
		}
		members[id], dirs[id] = n, d
	}
	n := members["b"]
	for _, setting := range []string{"kept", "lost"} {
		if err := n.PutSetting(ctx, setting, []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	number, err := n.NodeNumber(ctx, ids.NewNode())
	if err != nil {
		t.Fatal(err)
	}
	written, err := n.WriteKey(ctx, record.KeyWrite{Key: "k", Value: []byte("1")})
	if err != nil || written.Outcome != record.KeyDone {
		t.Fatal(written, err)
	}
	seq := n.ListKeys("").Seq
	for id := range members {
		if err := members[id].Close(); err != nil {
			t.Fatal(err)
		}
		if id != "b" {
			_ = dirs[id].Close()
		}
	}
	st, err := raftstate.Inspect("b", dirs["b"].Stores())
	if err != nil || len(st.Members) != 3 || st.Index < written.Version {
		t.Fatalf("%+v, %v", st, err)
	}
	for range 2 { // the second time, the first one was interrupted before anybody knew
		if err := raftstate.Recover("b", dirs["b"].Stores(), func(setting string) bool { return setting == "lost" }); err != nil {
			t.Fatal(err)
		}
	}
	if err := dirs["b"].Close(); err != nil {
		t.Fatal(err)
	}
	d, err := Open(filepath.Join(folder, "b"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	alone, err := raftstate.Open(raftstate.Options{ID: "b", Stores: d.Stores()})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	if _, err := alone.Lead(ctx); err != nil {
		t.Fatal(err)
	}
	_, lost := alone.Setting("lost")
	if v, kept := alone.Setting("kept"); !kept || lost || string(v) != "v" {
		t.Errorf("settings: kept %q %v, lost %v", v, kept, lost)
	}
	if p, known := alone.Key("k"); !known || string(p.Value) != "1" || p.Version != written.Version {
		t.Errorf("the key: %+v, %v", p, known)
	}
	const atLeast = 1 << 20
	if next, err := alone.NodeNumber(ctx, ids.NewNode()); err != nil || next < number+atLeast {
		t.Errorf("number %d after %d, %v", next, number, err)
	}
	again, err := alone.WriteKey(ctx, record.KeyWrite{Key: "k", Value: []byte("2")})
	if err != nil || again.Version < written.Version+atLeast {
		t.Errorf("version %d after %d, %v", again.Version, written.Version, err)
	}
	if r, err := alone.WatchKeys(ctx, "", seq); err != nil || !r.Compacted {
		t.Errorf("who has watched before sees %+v, %v", r, err)
	}
	if m := alone.Members(); len(m) != 1 || m[0].ID != "b" {
		t.Errorf("members: %+v", m)
	}
}
