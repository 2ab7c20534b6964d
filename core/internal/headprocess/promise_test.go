package headprocess

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eagleray/eagleray/core/internal/alive"
	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/raftstate"
)

// restartsAfter returns for how long a head that begins to lead with those times keeps an exclusive actor of a node of which it hears nothing.
func restartsAfter(next alive.Timing) time.Duration {
	h := alive.NewHeads(next, 0, []uint32{5}, nil)
	for now := time.Duration(0); now < 5*time.Minute; now += 500 * time.Millisecond {
		h.Advance(now)
		for _, a := range h.Actions() {
			if a.Kind == alive.MayRestart {
				return now
			}
		}
	}
	return 0
}

// begins returns the times with which a head begins to lead, which it has noted.
func begins(t *testing.T, state *raftstate.Node) alive.Timing {
	t.Helper()
	reign, err := state.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	timing, err := timingOf(state)
	if err == nil {
		err = notePromise(t.Context(), reign, timing)
	}
	if err != nil {
		t.Fatal(err)
	}
	return timing
}

// node_timeout goes from 60 to 10 s, one head after the other, the one that leads last, as docs/cluster.md has it for an upgrade. The head that leads keeps the
// times with which it began to lead. A node that it has acknowledged a heartbeat of, just before it was cut off, begins calls for 60 s more.
func TestPromise_ShorterNodeTimeoutOnThreeHeads_NextLeaderWaitsForIt(t *testing.T) {
	state := newState(t)
	for i, seconds := range []float64{60, 10, 10} {
		if _, err := timingAfter(t, state, seconds); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			begins(t, state)
		}
	}
	for range 2 { // the next one dies soon, so that another one follows it
		if after := restartsAfter(begins(t, state)); after < 72*time.Second {
			t.Errorf("the node's exclusive actors begin calls for a minute, and the next leader starts them elsewhere after %v", after)
		}
	}
}

// Two heads are started with other settings at the same time, and one of them has not seen what the other one and the head that leads have done.
func TestPromise_FormerSettingIsLost_WhatTheLeaderHasNotedCounts(t *testing.T) {
	state := newState(t)
	if _, err := timingAfter(t, state, 60); err != nil {
		t.Fatal(err)
	}
	begins(t, state)
	for name, seconds := range map[string]time.Duration{formerSetting: 5 * time.Second, TimeoutSetting: 10 * time.Second} {
		if err := putTimeout(t.Context(), state, name, seconds); err != nil {
			t.Fatal(err)
		}
	}
	if timing := begins(t, state); timing.Dead != 10*time.Second || timing.Fence != 72*time.Second {
		t.Errorf("%+v", timing)
	}
}

// A head that has led for as long as a node may believe an earlier promise forgets that one, and keeps its own.
func TestPromise_LeaderHasLedForTheFence_NextLeaderWaitsForItsOwnOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := newState(t)
		for _, seconds := range []float64{60, 10} {
			if _, err := timingAfter(t, state, seconds); err != nil {
				t.Fatal(err)
			}
			begins(t, state)
		}
		timing := begins(t, state)
		reign := state.Reigns()
		short, cancel := context.WithTimeout(t.Context(), timing.Fence-time.Second)
		defer cancel()
		if err := settlePromises(short, reign, timing); err != nil {
			t.Fatal(err)
		}
		if now := begins(t, state); now.Fence != 72*time.Second {
			t.Errorf("a second too early it has forgotten what was promised: %+v", now)
		}
		if _, err := timingAfter(t, state, 5); err != nil { // it leads on with 10 s
			t.Fatal(err)
		}
		if err := settlePromises(t.Context(), reign, timing); err != nil {
			t.Fatal(err)
		}
		if next := begins(t, state); next.Dead != 5*time.Second || next.Fence != 12*time.Second {
			t.Errorf("%+v, and it has led with 10 s for long", next)
		}
	})
}

func TestLead_BeginsToServe_ItsPromiseIsNoted(t *testing.T) {
	state, log := newState(t), slog.New(slog.DiscardHandler)
	if _, err := timingAfter(t, state, 30); err != nil {
		t.Fatal(err)
	}
	reign, err := state.Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := linkmsg.HeadAt{ID: "a", Number: 1, Addresses: []string{"a:1"}}
	group := headgroup.New(headgroup.Options{ID: at.ID, Number: at.Number, Log: log, Book: headgroup.NewBook(t.TempDir(), &headgroup.File{Heads: []linkmsg.HeadAt{at}}, log),
		Control: func(uint32) (*wire.Peer, error) { return nil, errors.New("there are no links here") }})
	group.Begin(state)
	defer group.Close()
	l, err := lead(&Config{}, reign, group, log)
	if err != nil {
		t.Fatal(err)
	}
	defer l.end()
	if promised, known, err := timeoutIn(state, promisedSetting); err != nil || !known || promised != 30*time.Second {
		t.Errorf("%v, %v, %v", promised, known, err)
	}
}
