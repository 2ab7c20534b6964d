package headprocess

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// A head whose voters are not there says how many have to run, and it has the time to say so before its warden ends it.
func TestNote_NoMajority_SaysHowManyHeadsHaveToRun(t *testing.T) {
	state, err := raftstate.NewMemoryNet("a", "b", "c").Open("a", raftstate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, at := slog.New(slog.DiscardHandler), linkmsg.HeadAt{ID: "a", Number: 1, Addresses: []string{"a:1"}}
	group := headgroup.New(headgroup.Options{ID: at.ID, Number: at.Number, Log: log, Book: headgroup.NewBook(t.TempDir(), &headgroup.File{Heads: []linkmsg.HeadAt{at}}, log),
		Control: func(uint32) (*wire.Peer, error) { return nil, errors.New("there are no links here") }})
	group.Begin(state)
	defer group.Close()
	defer closeState(state, log)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	id := &identity{self: pki.Identity{Role: pki.RoleHead, Number: at.Number}}
	_, err = (&Config{}).note(ctx, state, group, id, t.TempDir(), at.Addresses, log)
	if err == nil || !strings.Contains(err.Error(), "2 of the 3 heads with a vote have to run and reach each other") || !strings.Contains(err.Error(), "eagleray heads recover") {
		t.Errorf("it ends with %v", err)
	}
	if left := process.ReadyLimit - process.LeaderLimit; left < 3*time.Second {
		t.Errorf("it has %v to end and to say why", left)
	}
}
