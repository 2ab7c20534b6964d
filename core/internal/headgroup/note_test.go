package headgroup

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/raftstate"
)

// A head is started again after an administrator has given it a vote, or has removed it. Its own state is older than that when it writes where it is.
func TestNote_HeadIsStartedAgain_KeepsWhatAdministratorsHaveChanged(t *testing.T) {
	for _, flag := range []string{"voter", "removed"} {
		ids := []string{"a", "b", "c"}
		net := raftstate.NewMemoryNet(ids...)
		nodes, stores := map[string]*raftstate.Node{}, map[string]raftstate.Stores{}
		open := func(id string) {
			n, err := net.Open(id, raftstate.Options{Stores: stores[id]})
			if err != nil {
				t.Fatal(err)
			}
			nodes[id] = n
		}
		for _, id := range ids {
			stores[id] = raftstate.NewMemoryStores()
			open(id)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		put := func(e Entry) {
			t.Helper()
			b, err := e.Encode()
			if err == nil {
				err = nodes["a"].PutSetting(ctx, SettingOf(e.ID), b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		e := Entry{HeadAt: linkmsg.HeadAt{ID: "c", Number: 3, Addresses: []string{"c:1"}, Level: raftstate.Level}}
		put(e)
		e.Voter, e.Removed = flag == "voter", flag == "removed"
		put(e)
		if err := nodes["c"].Fresh(ctx); err != nil {
			t.Fatal(err)
		}
		if err := nodes["c"].Close(); err != nil {
			t.Fatal(err)
		}
		open("c")
		g := &Group{o: Options{ID: "c", Number: 3, Log: slog.New(slog.DiscardHandler)}, state: nodes["c"]}
		if err := g.Note(ctx, []string{"c:2"}); err != nil {
			t.Fatal(err)
		}
		if err := nodes["a"].Fresh(ctx); err != nil {
			t.Fatal(err)
		}
		b, _ := nodes["a"].Setting(SettingOf("c"))
		now, err := ParseEntry(b)
		if err != nil {
			t.Fatal(err)
		}
		if now.Voter != e.Voter || now.Removed != e.Removed || now.Addresses[0] != "c:2" {
			t.Errorf("%s was acknowledged, and after a restart of the head the state says %s", flag, b)
		}
		for _, n := range nodes {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
