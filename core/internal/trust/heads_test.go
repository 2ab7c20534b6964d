package trust

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
)

func TestOffered_NewerKeysOfTheCluster_AreTakenAndOthersAreNot(t *testing.T) {
	token, next := pki.NewToken("here"), pki.NewToken("next")
	w := newWorld(t, token)
	away := w.open(token) // it does not hear of what follows
	old, err := w.keeper.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []linkmsg.Admin{{Op: linkmsg.AdminRevoke, Node: "5"}, {Op: linkmsg.AdminAddToken, Token: next.Text(), From: "next"}} {
		if _, err := w.admin(token, q); err != nil {
			t.Fatal(err)
		}
	}
	w.setOwn(next)
	if _, err := w.admin(next, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err != nil {
		t.Fatal(err)
	}
	present, err := w.keeper.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := pki.NewKeyring(pki.NewCluster(), next, false, w.keeper.now().Revoked[0].At)
	if err != nil {
		t.Fatal(err)
	}
	stranger.Version = 1 << 40
	foreign, err := stranger.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if taken, err := away.Offered(foreign, next); taken || err == nil || !strings.Contains(err.Error(), "the keys are those of cluster") {
		t.Errorf("keys of another cluster: %v, %v", taken, err)
	}
	if taken, err := away.Offered(present, token); taken || err == nil {
		t.Errorf("keys without their token: %v, %v", taken, err)
	}
	if away.IsRevoked(5) || away.isAhead() {
		t.Fatal("a refused keyring has changed something")
	}
	if taken, err := away.Offered(present, next); !taken || err != nil || !away.IsRevoked(5) || !away.isAhead() {
		t.Fatalf("the present keys: %v, %v", taken, err)
	}
	if tokens := away.Tokens(); len(tokens) != 1 || tokens[0].Text() != next.Text() {
		t.Errorf("it has %d tokens", len(tokens))
	}
	if dead, _ := w.links.ended(); !slices.Contains(dead, 5) {
		t.Errorf("the connections of %v were ended", dead)
	}
	for name, sealed := range map[string][]byte{"older ones": old, "the same ones": present} {
		if taken, err := away.Offered(sealed, token); taken || err != nil {
			t.Errorf("%s: %v, %v", name, taken, err)
		}
	}
}

// A head that hears of a replacement of the authority only when it is over has as many authorities as before.
func TestAuthority_HeadHasMissedTheSteps_ItsConnectionsBeginAnew(t *testing.T) {
	for name, hears := range map[string]func(*Keeper, *world, pki.Token) error{
		"from the state": func(k *Keeper, _ *world, _ pki.Token) error { k.Changed(); return nil },
		"from another head": func(k *Keeper, w *world, token pki.Token) error {
			sealed, err := w.keeper.Sealed()
			if err == nil {
				_, err = k.Offered(sealed, token)
			}
			return err
		},
	} {
		token := pki.NewToken("here")
		w := newWorld(t, token)
		away, links := w.open(token), &playedLinks{}
		away.Serve(links)
		before := away.now().Authorities[0].Short()
		w.steps()
		if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRotateAuthority}); err != nil {
			t.Fatal(err)
		}
		w.until("the old authority is dropped", func() bool { r := w.keeper.now(); return len(r.Authorities) == 1 && r.Version > 2 })
		if err := hears(away, w, token); err != nil {
			t.Fatal(err)
		}
		if r := away.now(); len(r.Authorities) != 1 || r.Authorities[0].Short() == before {
			t.Fatalf("%s: it has %d authorities, the first one is %s, it was %s", name, len(r.Authorities), r.Authorities[0].Short(), before)
		}
		if _, redials := links.ended(); redials != 1 {
			t.Errorf("%s: the connections were begun anew %d times", name, redials)
		}
		if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "5"}); err != nil {
			t.Fatal(err)
		}
		if away.Changed(); !away.IsRevoked(5) {
			t.Errorf("%s: it hears of nothing further", name)
		}
		if _, redials := links.ended(); redials != 1 {
			t.Errorf("%s: the connections were begun anew without need", name)
		}
	}
}

// A head that begins to lead may not have taken yet what the one before has changed last. Its own first change must not undo that.
// A head that has not taken the last change yet judges tokens by the state, and shows it.
func TestCounts_HeadHasNotHeardOfTheLastChange_TokenThatWasEndedCountsNoMore(t *testing.T) {
	first, second := pki.NewToken("/old"), pki.NewToken("/new")
	w := newWorld(t, first)
	if _, err := w.admin(first, linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: second.Text(), From: "/new"}); err != nil {
		t.Fatal(err)
	}
	w.setOwn(second)
	behind := w.open(second)
	for _, token := range []pki.Token{first, second} {
		if err := behind.Counts(token); err != nil {
			t.Errorf("%v while both count: %v", token, err)
		}
	}
	if _, err := w.admin(second, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err != nil {
		t.Fatal(err)
	}
	if n := len(behind.Tokens()); n != 2 {
		t.Fatalf("the other head has %d tokens before it has heard of the change", n)
	}
	if err := behind.Counts(first); err == nil || !strings.Contains(err.Error(), "was ended") {
		t.Errorf("the ended token: %v", err)
	}
	if err := behind.Counts(second); err != nil || len(behind.Tokens()) != 1 {
		t.Errorf("the other one: %v, and %d tokens", err, len(behind.Tokens()))
	}
}

func TestChange_HeadHasNotHeardOfTheLastOne_BothAreThere(t *testing.T) {
	token, next := pki.NewToken("here"), pki.NewToken("next")
	for _, q := range []linkmsg.Admin{
		{Op: linkmsg.AdminAddToken, Token: next.Text(), From: "next"}, {Op: linkmsg.AdminRotateAuthority}, {Op: linkmsg.AdminRevoke, Node: "6"},
	} {
		w := newWorld(t, token)
		later := w.open(token)
		if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "5"}); err != nil {
			t.Fatal(err)
		}
		if _, err := later.Admin(t.Context(), token, q); err != nil {
			t.Fatal(err)
		}
		sealed, _ := w.state.Setting(Setting)
		ring, err := pki.OpenKeyring(sealed, token)
		if err != nil {
			t.Fatal(err)
		}
		if !ring.IsRevoked(5) || ring.Version != 3 {
			t.Errorf("%s: the keys have version %d, must have 3, and %v were revoked", q.Op, ring.Version, ring.Revoked)
		}
		if w.keeper.Changed(); w.keeper.Version() != 3 {
			t.Errorf("%s: the head before does not take the change", q.Op)
		}
	}
}

func TestChange_KeysOfTheStateCannotBeRead_NothingIsPutOverThem(t *testing.T) {
	token, next := pki.NewToken("here"), pki.NewToken("next")
	w := newWorld(t, token)
	away := w.open(token)
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: next.Text()}); err != nil {
		t.Fatal(err)
	}
	w.setOwn(next)
	if _, err := w.admin(next, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err != nil {
		t.Fatal(err)
	}
	before, _ := w.state.Setting(Setting)
	if _, err := away.Admin(t.Context(), token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "5"}); err == nil || !strings.Contains(err.Error(), "cannot read them") {
		t.Errorf("the error is %v", err)
	}
	if after, _ := w.state.Setting(Setting); !bytes.Equal(before, after) {
		t.Error("the keys in the state were replaced by some that were made of former ones")
	}
}

// A change is put by the leadership in which the keys were read, and by no other.
func TestChange_HeadLeadsNoMore_NothingIsPut(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	over := errors.New("it leads no more")
	begins, puts := over, 0
	w.keeper.o.Reign = func() (PutSetting, error) {
		return func(context.Context, string, []byte) error { puts++; return over }, begins
	}
	q := linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "5"}
	if _, err := w.admin(token, q); !errors.Is(err, over) || puts != 0 {
		t.Errorf("it does not lead: %v, %d attempts to put", err, puts)
	}
	begins = nil
	if _, err := w.admin(token, q); !errors.Is(err, over) || puts != 1 || w.keeper.IsRevoked(5) {
		t.Errorf("it leads no more: %v, %d attempts to put", err, puts)
	}
}

// A head that has its keys from another one reads its own log afterwards, in which the keys of an earlier time are.
func TestChanged_StateIsBehindTheKeys_IsNotTakenAndNoError(t *testing.T) {
	token, next := pki.NewToken("here"), pki.NewToken("next")
	w := newWorld(t, token)
	ring := w.keeper.now()
	newer, err := ring.AddToken(next)
	if err == nil {
		newer, err = newer.KeepToken(next)
	}
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := newer.Seal()
	if err != nil {
		t.Fatal(err)
	}
	before, _ := w.state.Setting(Setting)
	var logged bytes.Buffer
	o := w.options(next, false)
	o.State = &playedState{settings: map[string][]byte{Setting: sealed}}
	o.Log = slog.New(slog.NewTextHandler(&logged, nil))
	k, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	k.Ahead()
	if err := o.State.PutSetting(t.Context(), Setting, before); err != nil {
		t.Fatal(err)
	}
	if k.Changed() || k.Version() != newer.Version || strings.Contains(logged.String(), "level=ERROR") {
		t.Errorf("it has version %d, and says %s", k.Version(), logged.String())
	}
	if err := o.State.PutSetting(t.Context(), Setting, sealed); err != nil {
		t.Fatal(err)
	}
	if !k.Changed() || k.isAhead() {
		t.Error("the state has caught up, and that is not seen")
	}
	if err := o.State.PutSetting(t.Context(), Setting, before); err != nil {
		t.Fatal(err)
	}
	if k.Changed() || !strings.Contains(logged.String(), "level=ERROR") {
		t.Errorf("keys that cannot be read are an error again: %s", logged.String())
	}
}

func TestAuthority_HeadLacksTheKeys_StepWaitsAndSaysForWhom(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	waits, known := []uint32{4}, true
	w.keeper.o.Waits = func(uint64) ([]uint32, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return waits, known
	}
	a, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRotateAuthority})
	if err != nil || !slices.Equal(a.HeadsWait, []uint32{4}) {
		t.Fatalf("%+v, %v", a, err)
	}
	set := func(list []uint32, leads bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		waits, known = list, leads
	}
	if all, _ := w.keeper.current(); all {
		t.Error("a head lacks the keys, and nobody waits")
	}
	set(nil, false)
	if all, _ := w.keeper.current(); all {
		t.Error("a head that does not know goes on")
	}
	set(nil, true)
	w.steps()
	w.until("the old authority is dropped", func() bool { return len(w.keeper.now().Authorities) == 1 })
	if a, err = w.admin(token, linkmsg.Admin{Op: linkmsg.AdminStatus}); err != nil || len(a.HeadsWait) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestRevokeHead_RemovedHead_IsRevokedOnce(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	for range 2 {
		if err := w.keeper.RevokeHead(t.Context(), 3); err != nil || !w.keeper.IsRevoked(3) {
			t.Fatalf("it is not revoked: %v", err)
		}
	}
	if n := w.keeper.Version(); n != 2 {
		t.Errorf("the keys have version %d, must have 2", n)
	}
	open, err := Open(t.Context(), Options{State: &playedState{settings: map[string][]byte{}}, Cluster: w.cluster, Token: token, Insecure: true, Own: w.ownToken, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := open.RevokeHead(t.Context(), 3); err != nil || open.IsRevoked(3) {
		t.Errorf("without TLS there is nothing to revoke: %v", err)
	}
}

func TestSign_RoleWithoutAProcess_GetsNoCertificate(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	keys, err := pki.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	request, err := keys.Request()
	if err != nil {
		t.Fatal(err)
	}
	id := pki.Identity{Cluster: w.cluster, Generation: 1, Number: 6}
	for role, signed := range map[pki.Role]bool{pki.RoleHead: true, pki.RoleNode: true, pki.RoleGateway: false, "": false} {
		id.Role = role
		cert, _, err := w.keeper.Sign(request, id)
		if signed != (err == nil && cert != nil) {
			t.Errorf("%q: a certificate of %d bytes, %v", role, len(cert), err)
		}
		if !signed && (err == nil || !strings.Contains(err.Error(), "there are no certificates for the role")) {
			t.Errorf("%q: the error is %v", role, err)
		}
	}
}
