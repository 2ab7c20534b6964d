package trust

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/record"
)

func TestToken_IsReplacedWithoutDowntime(t *testing.T) {
	first, second := pki.NewToken("/old"), pki.NewToken("/new")
	w := newWorld(t, first)
	one, two := w.node(1, "one", first), w.node(2, "two", first)
	a, err := w.admin(first, linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: second.Text(), From: "/new"})
	if err != nil || len(a.Tokens) != 2 || a.Proved != 1 || len(w.keeper.Tokens()) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	one.has(second)
	if _, err := w.admin(first, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err == nil || !strings.Contains(err.Error(), "with the new token") {
		t.Errorf("finished with the old token: %v", err)
	}
	if _, err := w.admin(second, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err == nil || !strings.Contains(err.Error(), "/old") {
		t.Errorf("finished while the head has the old token: %v", err)
	}
	w.setOwn(second)
	if _, err := w.admin(second, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err == nil || !strings.Contains(err.Error(), "two (node 2 at 10.0.0.1)") || strings.Contains(err.Error(), "one (node 1") {
		t.Errorf("finished while a node has the old token: %v", err)
	}
	a, err = w.admin(second, linkmsg.Admin{Op: linkmsg.AdminStatus})
	if err != nil || len(a.Nodes) != 2 || a.Nodes[0].Token != 2 || a.Nodes[1].Token != 1 || a.HeadHas != 2 || !a.Nodes[0].Heard {
		t.Errorf("%+v, %v", a, err)
	}
	two.has(second)
	if a, err = w.admin(second, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err != nil || len(a.Tokens) != 1 {
		t.Fatalf("%+v, %v", a, err)
	}
	again := w.open(second) // the head is started again
	if n := len(again.Tokens()); n != 1 {
		t.Errorf("%d tokens", n)
	}
	if _, err := Open(t.Context(), w.options(first, false)); !errors.Is(err, ErrOtherToken) {
		t.Errorf("the old token opens the keys: %v", err)
	}
}

func TestToken_NodeKeepsTheOldOne_IsFinishedByForceOnly(t *testing.T) {
	first, second := pki.NewToken("/old"), pki.NewToken("/new")
	w := newWorld(t, first)
	w.node(1, "one", first).set(true)
	if _, err := w.admin(first, linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: second.Text()}); err != nil {
		t.Fatal(err)
	}
	w.setOwn(second)
	if _, err := w.admin(second, linkmsg.Admin{Op: linkmsg.AdminFinishToken}); err == nil {
		t.Error("finished although a node has said nothing")
	}
	if a, err := w.admin(second, linkmsg.Admin{Op: linkmsg.AdminFinishToken, Force: true}); err != nil || len(a.Tokens) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestToken_IsWithdrawn_WhenAllMachinesHaveTheOldOne(t *testing.T) {
	first, second := pki.NewToken("/old"), pki.NewToken("/new")
	w := newWorld(t, first)
	one := w.node(1, "one", first)
	w.node(2, "two", first)
	add := linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: second.Text(), From: "/new"}
	find := linkmsg.Admin{Op: linkmsg.AdminFindToken, Tag: second.Tag(linkmsg.FindText)}
	if a, err := w.admin(first, find); err != nil || a.Found != 0 {
		t.Errorf("found before it is there: %+v, %v", a, err)
	}
	for range 2 { // the answer to the first one may have been lost
		if a, err := w.admin(first, add); err != nil || len(a.Tokens) != 2 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if n := w.keeper.Version(); n != 2 {
		t.Errorf("the keys have version %d, must have 2", n)
	}
	if a, err := w.admin(first, find); err != nil || a.Found != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	withdraw := linkmsg.Admin{Op: linkmsg.AdminWithdrawToken}
	if _, err := w.admin(second, withdraw); err == nil || !strings.Contains(err.Error(), "with the old token") {
		t.Errorf("withdrawn with the new token: %v", err)
	}
	w.setOwn(second)
	if _, err := w.admin(first, linkmsg.Admin{Op: linkmsg.AdminWithdrawToken, Force: true}); err == nil || !strings.Contains(err.Error(), "the head's own machine") {
		t.Errorf("withdrawn while the head has the new token: %v", err)
	}
	w.setOwn(first)
	one.has(second)
	if _, err := w.admin(first, withdraw); err == nil || !strings.Contains(err.Error(), "one (node 1 at 10.0.0.1)") || strings.Contains(err.Error(), "two (node 2") {
		t.Errorf("withdrawn while a node has the new token: %v", err)
	}
	one.has(first)
	if a, err := w.admin(first, withdraw); err != nil || len(a.Tokens) != 1 || a.Tokens[0] != "/old" {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := Open(t.Context(), w.options(second, false)); !errors.Is(err, ErrOtherToken) {
		t.Errorf("the withdrawn token opens the keys: %v", err)
	}
	third := pki.NewToken("/third")
	if a, err := w.admin(first, linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: third.Text(), From: "/third"}); err != nil || len(a.Tokens) != 2 {
		t.Errorf("another one cannot be made: %+v, %v", a, err)
	}
}

func TestAuthority_IsReplacedInStepsThatAllNodesHaveTaken(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	w.steps()
	one, two := w.node(1, "one", token), w.node(2, "two", token)
	two.set(true)
	before, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminStatus})
	if err != nil || len(before.Authorities) != 1 {
		t.Fatalf("%+v, %v", before, err)
	}
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRotateAuthority}); err != nil {
		t.Fatal(err)
	}
	w.until("one of the nodes accepts both", func() bool { return w.keeper.connected()[1].have == w.keeper.now().Version })
	if r := w.keeper.now(); r.Signing != 0 || len(r.Authorities) != 2 {
		t.Errorf("the new authority signs although a node does not know it: %+v", r)
	}
	two.set(false)
	two.renew(0)
	w.until("the old authority is dropped", func() bool { return len(w.keeper.now().Authorities) == 1 })
	after, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminStatus})
	if err != nil || after.Authorities[0] == before.Authorities[0] {
		t.Errorf("%+v after %+v, %v", after, before, err)
	}
	if _, redials := w.links.ended(); redials != 1 {
		t.Errorf("the connections were begun anew %d times", redials)
	}
	w.until("all nodes are current", func() bool { all, _ := w.keeper.current(); return all })
	for _, n := range []*playedNode{one, two} {
		if err := n.accepts(w.keeper); err != nil {
			t.Error(err)
		}
	}
}

// accepts returns why a node does not accept what the keeper signs now.
func (n *playedNode) accepts(k *Keeper) error {
	request, err := n.keys.Request()
	if err != nil {
		return err
	}
	cert, authorities, err := k.Sign(request, n.id)
	if err == nil {
		_, err = n.keys.Install(cert, authorities)
	}
	return err
}

func TestAuthority_SilentNodeDies_StepsGoOn(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	w.steps()
	w.node(1, "one", token)
	two := w.node(2, "two", token)
	two.set(true)
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRotateAuthority}); err != nil {
		t.Fatal(err)
	}
	if err := w.state.NodeGone(t.Context(), ids.Node{2, 0xaa, 0xbb}, "silence", 0); err != nil {
		t.Fatal(err)
	}
	w.until("the old authority is dropped", func() bool { return len(w.keeper.now().Authorities) == 1 })
}

func TestAuthority_NextHead_GoesOnWithTheSteps(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	w.node(1, "one", token).set(true)
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRotateAuthority}); err != nil {
		t.Fatal(err)
	}
	w.keeper = w.open(token)
	w.steps()
	if n := len(w.keeper.now().Authorities); n != 2 {
		t.Fatalf("%d authorities", n)
	}
	w.state.clear()
	w.node(1, "one", token)
	w.until("the old authority is dropped", func() bool { return len(w.keeper.now().Authorities) == 1 })
}

func (s *playedState) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes = nil
}

func TestRevoke_EverybodyHearsAndNothingIsSigned(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	one, two := w.node(1, "one", token), w.node(2, "two", token)
	for _, wrong := range []string{"0", "three", "02aa", "", "78", "482913"} {
		if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: wrong}); err == nil {
			t.Errorf("%q was revoked", wrong)
		}
	}
	a, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "two"})
	if err != nil || a.Node != "node 2 (two at 10.0.0.1)" || !slices.Equal(a.Revoked, []uint32{2}) {
		t.Fatalf("%+v, %v", a, err)
	}
	if n := w.state.ListNodes()[1]; n.State != record.NodeDead || n.Reason != "it was revoked" {
		t.Errorf("the node is %s: %s", n.State, n.Reason)
	}
	if dead, _ := w.links.ended(); !slices.Equal(dead, []uint32{2}) {
		t.Errorf("the connections of %v were ended", dead)
	}
	w.until("the other node hears of it", func() bool { return one.heard(2) })
	if err := two.accepts(w.keeper); err == nil || !strings.Contains(err.Error(), "was revoked") {
		t.Errorf("it gets a certificate: %v", err)
	}
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "77"}); err != nil || !w.keeper.IsRevoked(77) {
		t.Errorf("a number that never registered: %v", err)
	}
	if again := w.open(token); !again.IsRevoked(2) || !again.IsRevoked(77) {
		t.Error("the next head has forgotten it")
	}
	late := w.node(3, "three", token)
	w.until("a node that comes later hears of it", func() bool { return late.heard(2) && late.heard(77) })
}

func TestRevoke_TwoNodesOfOneName_AreToldApartByIDAndNumber(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	w.node(1, "same", token)
	w.node(2, "same", token)
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "same"}); err == nil || !strings.Contains(err.Error(), "2 nodes") {
		t.Errorf("two nodes: %v", err)
	}
	id := w.state.ListNodes()[1].ID.String()
	if a, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: id}); err != nil || !strings.HasPrefix(a.Node, "node 2 ") {
		t.Errorf("by its id: %+v, %v", a, err)
	}
}

// Six digits of an id may be decimal ones only. They are no number then, unless a node has that number.
func TestRevoke_BeginningOfAnIDHasDecimalDigitsOnly_TheNodeIsMeant(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	id := ids.Node{0x48, 0x29, 0x13, 0xab}
	w.state.nodes = []record.Node{{ID: id, Number: 7, Name: "seven", State: record.NodeAlive}}
	w.state.give(500_000)
	a, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: id.String()[:6]})
	if err != nil || !strings.HasPrefix(a.Node, "node 7 ") || !w.keeper.IsRevoked(7) || w.keeper.IsRevoked(482913) {
		t.Errorf("%+v, %v; node 7 is revoked: %v", a, err, w.keeper.IsRevoked(7))
	}
	w.state.nodes = append(w.state.nodes, record.Node{ID: ids.Node{1}, Number: 482913, Name: "other", State: record.NodeAlive})
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "482913"}); err == nil || !strings.Contains(err.Error(), "2 nodes") {
		t.Errorf("the number of one and the id of another: %v", err)
	}
}

func TestChanged_ByAnotherHead_IsTaken(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	one := w.node(1, "one", token)
	other := w.open(token)
	if _, err := other.Admin(t.Context(), token, linkmsg.Admin{Op: linkmsg.AdminRevoke, Node: "9"}); err != nil {
		t.Fatal(err)
	}
	if w.keeper.IsRevoked(9) {
		t.Fatal("it knows already")
	}
	w.keeper.Changed()
	if !w.keeper.IsRevoked(9) {
		t.Error("it does not know")
	}
	w.until("its node hears of it", func() bool { return one.heard(9) })
}

func TestAdmin_StateFails_NothingChanges(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	w.state.fail(errors.New("the disk is full"))
	for _, q := range []linkmsg.Admin{{Op: linkmsg.AdminAddToken, Token: pki.NewToken("x").Text()}, {Op: linkmsg.AdminRotateAuthority}, {Op: linkmsg.AdminRevoke, Node: "9"}} {
		if _, err := w.admin(token, q); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("%s: %v", q.Op, err)
		}
	}
	if r := w.keeper.now(); len(r.Tokens) != 1 || len(r.Authorities) != 1 || len(r.Revoked) != 0 {
		t.Errorf("%+v", r)
	}
	if _, err := w.admin(token, linkmsg.Admin{Op: "dance"}); err == nil || !strings.Contains(err.Error(), `"dance"`) {
		t.Errorf("an unknown request: %v", err)
	}
	if _, err := w.admin(token, linkmsg.Admin{Op: linkmsg.AdminAddToken, Token: "short"}); !errors.Is(err, pki.ErrBadToken) {
		t.Errorf("a token that can be guessed: %v", err)
	}
}

func TestOpen_WithoutTLS_NothingIsReplaced(t *testing.T) {
	token := pki.NewToken("here")
	w := &world{t: t, cluster: pki.NewCluster(), state: &playedState{settings: map[string][]byte{}}, own: token}
	k, err := Open(t.Context(), w.options(token, true))
	if err != nil || k.Signs() {
		t.Fatal(err)
	}
	if cert, authorities, err := k.Sign(nil, pki.Identity{}); cert != nil || authorities != nil || err != nil {
		t.Errorf("it signs: %v", err)
	}
	for _, op := range []linkmsg.AdminOp{linkmsg.AdminAddToken, linkmsg.AdminWithdrawToken, linkmsg.AdminFinishToken, linkmsg.AdminRotateAuthority, linkmsg.AdminRevoke} {
		if _, err := k.Admin(t.Context(), token, linkmsg.Admin{Op: op, Node: "1"}); err == nil || !strings.Contains(err.Error(), "--insecure") {
			t.Errorf("%s: %v", op, err)
		}
	}
	later, err := Open(t.Context(), w.options(token, false))
	if err != nil || !later.Signs() {
		t.Errorf("with TLS later: %v", err)
	}
	w.state.settings[FormerSetting] = []byte("x")
	delete(w.state.settings, Setting)
	if _, err := Open(t.Context(), w.options(token, false)); !errors.Is(err, ErrOtherToken) {
		t.Errorf("the authority of an earlier release that was sealed with another token: %v", err)
	}
}

// A head that is started with --insecure on a folder of a cluster with TLS speaks without TLS, so it must not take a new token.
func TestOpen_WithoutTLSOnKeysWithAnAuthority_NothingIsReplacedOrSigned(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	k, err := Open(t.Context(), w.options(token, true))
	if err != nil || k.Signs() {
		t.Fatalf("it signs: %v", err)
	}
	for _, op := range []linkmsg.AdminOp{linkmsg.AdminAddToken, linkmsg.AdminWithdrawToken, linkmsg.AdminFinishToken, linkmsg.AdminRotateAuthority, linkmsg.AdminRevoke} {
		if _, err := k.Admin(t.Context(), token, linkmsg.Admin{Op: op, Token: pki.NewToken("next").Text(), Node: "5"}); err == nil || !strings.Contains(err.Error(), "--insecure") {
			t.Errorf("%s: %v", op, err)
		}
	}
	if a, err := k.Admin(t.Context(), token, linkmsg.Admin{Op: linkmsg.AdminStatus}); err != nil || len(a.Authorities) != 0 || len(a.Tokens) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	id := pki.Identity{Cluster: w.cluster, Generation: 1, Role: pki.RoleNode, Number: 3}
	if cert, authorities, err := k.Sign(nil, id); cert != nil || authorities != nil || err != nil {
		t.Errorf("a node that joins without TLS: %v", err)
	}
	if err := k.RevokeHead(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	later := w.open(token)
	if !later.Signs() || !later.IsRevoked(9) {
		t.Error("with TLS again the authority, or who was removed, is forgotten")
	}
}

func TestHandle_WhatMakesNoSense_IsRefused(t *testing.T) {
	token := pki.NewToken("here")
	w := newWorld(t, token)
	n := w.node(1, "one", token)
	for _, body := range []any{nil, 7, map[string]any{"request": []byte("x")}, map[string]any{"request": make([]byte, maxRenew+1)}} {
		if err := n.peer.Call(t.Context(), linkmsg.TRenew, body, nil); err == nil {
			t.Errorf("%v gets a certificate", body)
		}
	}
	if err := n.peer.Push(linkmsg.TRekeyed, "x"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.peer.Done():
	case <-time.After(soon):
		t.Error("a version that is no number ends no connection")
	}
}
