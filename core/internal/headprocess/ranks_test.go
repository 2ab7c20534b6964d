package headprocess

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/raftstate"
)

// ranksOf returns what a head knows of ranks whose book has heads 0 and 2.
func ranksOf(t *testing.T, state *raftstate.Node) *ranks {
	t.Helper()
	at := []linkmsg.HeadAt{{ID: "a", Number: 0, Addresses: []string{"a:1"}}, {ID: "b", Number: 2, Addresses: []string{"b:1"}}}
	r := &ranks{book: headgroup.NewBook(t.TempDir(), &headgroup.File{Heads: at}, slog.New(slog.DiscardHandler)), state: new(atomic.Pointer[raftstate.Node])}
	r.state.Store(state)
	return r
}

func isHead(number uint32) pki.Identity { return pki.Identity{Role: pki.RoleHead, Number: number} }

// A certificate of a head with the number of a node is refused, also when the node has joined and not registered. A head that has just joined is let in before the
// book has it.
func TestRanks_HeadThatIsInNoBook_IsLetInOnlyIfTheStateHasIt(t *testing.T) {
	state := newState(t)
	r := ranksOf(t, state)
	register(t, state, 4, false, "")
	for _, number := range []uint32{0, 2} {
		if err := r.fits(isHead(number)); err != nil {
			t.Errorf("head %d: %v", number, err)
		}
	}
	for _, number := range []uint32{4, 5} { // 5 has not registered
		if err := r.fits(isHead(number)); err == nil || !strings.Contains(err.Error(), "told of no head with that number") || r.isHead(number) {
			t.Errorf("a head with number %d: %v", number, err)
		}
		if err := r.fits(pki.Identity{Role: pki.RoleNode, Number: number}); err != nil {
			t.Errorf("node %d: %v", number, err)
		}
	}
	for _, removed := range []bool{false, true} { // a head that is being removed is one until the others do without it
		e := headgroup.Entry{HeadAt: linkmsg.HeadAt{ID: "c", Number: 6, Addresses: []string{"c:1"}}, Removed: removed}
		b, err := e.Encode()
		if err == nil {
			err = state.PutSetting(t.Context(), headgroup.SettingOf(e.ID), b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := r.fits(isHead(6)); err != nil || !r.isHead(6) {
			t.Errorf("a head that has just joined (removed: %v): %v", removed, err)
		}
	}
	if err := r.fits(pki.Identity{Role: pki.RoleNode, Number: 6}); err == nil {
		t.Error("a node with the number of a head that is in no book fits")
	}
	if err := state.DelSetting(t.Context(), headgroup.SettingOf("c")); err != nil {
		t.Fatal(err)
	}
	if err := r.fits(isHead(6)); err == nil || r.isHead(6) {
		t.Errorf("a head that was removed fits: %v", err)
	}
}

// noForward is a raftstate.Forwarder for a member that reaches nobody.
type noForward struct{}

func (noForward) Forward(context.Context, string, string, []byte) ([]byte, error) {
	return nil, errors.New("nobody is reached")
}

// A head that comes back when all others were replaced knows none of those that lead. It takes them by their certificates, and then for heads only; their number is bounded.
func TestRanks_NobodyLeads_HeadIsTakenByItsCertificateAndIsNoNode(t *testing.T) {
	_, transport := raft.NewInmemTransport("a")
	voters := []raftstate.Voter{{ID: "a", Address: "a"}, {ID: "b", Address: "b"}}
	state, err := raftstate.Open(raftstate.Options{ID: "a", Voters: voters, Transport: transport, Forwarder: noForward{}})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	r := ranksOf(t, state)
	for number := uint32(10); number < 10+linkmsg.MaxHeads; number++ {
		if err := r.fits(pki.Identity{Role: pki.RoleNode, Number: number}); err != nil {
			t.Errorf("node %d: %v", number, err)
		}
		if err := r.fits(isHead(number)); err != nil || !r.isHead(number) {
			t.Errorf("head %d: %v", number, err)
		}
		if err := r.fits(pki.Identity{Role: pki.RoleNode, Number: number}); err == nil {
			t.Errorf("number %d fits as a head and as a node", number)
		}
	}
	if err := r.fits(isHead(9)); err == nil {
		t.Errorf("more than %d heads fit that are in no book", linkmsg.MaxHeads)
	}
	if err := r.fits(isHead(10)); err != nil {
		t.Errorf("head 10, once more: %v", err)
	}
}
