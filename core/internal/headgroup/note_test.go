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
		w := newStates(t, raftstate.Options{})
		nodes, open := w.nodes, w.open
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

// A head joins again, at a head that was started again a moment ago: the state there is older than the first time.
func TestAddHead_StateIsOlderThanTheFirstJoin_TheHeadKeepsItsNumberAndItsVote(t *testing.T) {
	w := newStates(t, raftstate.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e := Entry{HeadAt: linkmsg.HeadAt{ID: "d", Number: 4, Addresses: []string{"d:1"}, Level: raftstate.Level}, Voter: true}
	b, err := e.Encode()
	if err == nil {
		err = w.nodes["a"].PutSetting(ctx, SettingOf("d"), b)
	}
	if err == nil {
		err = w.nodes["b"].Fresh(ctx)
	}
	if err == nil {
		err = w.nodes["b"].Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	w.open("b")
	g := &Group{o: Options{ID: "b", Number: 2, Log: slog.New(slog.DiscardHandler)}, state: w.nodes["b"]}
	number, err := g.AddHead(ctx, linkmsg.HeadAt{ID: "d", Addresses: []string{"d:2"}, Level: raftstate.Level})
	if err != nil || number != 4 {
		t.Errorf("the head gets number %d, %v; it had 4", number, err)
	}
	b, _ = w.nodes["b"].Setting(SettingOf("d"))
	if now, err := ParseEntry(b); err != nil || !now.Voter || now.Addresses[0] != "d:2" {
		t.Errorf("the state says %s, %v", b, err)
	}
	for _, n := range w.nodes {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
