package headprocess

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/raftstate"
)

// What a head wants to put is of the time in which it led when it read the keys: after another head has led, it puts nothing, also when it leads again.
func TestKeyState_AnotherHeadHasLedMeanwhile_NothingIsPut(t *testing.T) {
	net, members := raftstate.NewMemoryNet("a", "b"), map[string]*raftstate.Node{}
	for _, id := range []string{"a", "b"} {
		n, err := net.Open(id, raftstate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
		members[id] = n
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	leads := make(chan *raftstate.Reign, len(members))
	for _, n := range members {
		go func() {
			if r, err := n.Lead(ctx); err == nil {
				leads <- r
			}
		}()
	}
	first := next(ctx, t, leads)
	keys := &keyState{file: &headgroup.File{}, state: first.Member()}
	put, err := keys.reign()
	if err != nil {
		t.Fatal(err)
	}
	if err := put(ctx, trust.Setting, []byte("first")); err != nil {
		t.Fatal(err)
	}
	other := "a"
	if first.Self() == other {
		other = "b"
	}
	transfer(ctx, t, first, members[other])
	if _, err := keys.reign(); !errors.Is(err, join.ErrNotLeader) {
		t.Errorf("it does not lead: %v", err)
	}
	theirs := &keyState{file: &headgroup.File{}, state: members[other]}
	if err := theirs.PutSetting(ctx, trust.Setting, []byte("second")); err != nil {
		t.Fatal(err)
	}
	transfer(ctx, t, members[other].Reigns(), first.Member())
	if err := put(ctx, trust.Setting, []byte("of the past")); !errors.Is(err, join.ErrNotLeader) {
		t.Errorf("it leads again, and puts what it had decided before: %v", err)
	}
	if b, _ := keys.Setting(trust.Setting); string(b) != "second" {
		t.Errorf("the keys are %q", b)
	}
	gone, stop := context.WithCancel(ctx)
	stop()
	if err := keys.PutSetting(gone, trust.Setting, []byte("third")); err != nil {
		t.Errorf("whoever asked has gone away: %v", err)
	}
	if b, _ := keys.Setting(trust.Setting); string(b) != "third" {
		t.Errorf("a change that was begun is not in the state when the next one begins, but %q", b)
	}
}

func next(ctx context.Context, t *testing.T, leads <-chan *raftstate.Reign) *raftstate.Reign {
	t.Helper()
	select {
	case r := <-leads:
		return r
	case <-ctx.Done():
		t.Fatal("no head leads")
		return nil
	}
}

// transfer lets another head lead.
func transfer(ctx context.Context, t *testing.T, from *raftstate.Reign, to *raftstate.Node) {
	t.Helper()
	if err := from.TransferTo(ctx, to.Self()); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Lead(ctx); err != nil {
		t.Fatal(err)
	}
}
