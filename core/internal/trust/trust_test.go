package trust

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// soon is far more than anything here takes.
const soon = 20 * time.Second

// playedState is the cluster's state.
type playedState struct {
	mu       sync.Mutex
	settings map[string][]byte
	nodes    []record.Node
	last     uint32 // the number that was given last
	fails    error
}

func (s *playedState) LastNumber() (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.fails
}

func (s *playedState) give(last uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
}

func (s *playedState) Setting(name string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, known := s.settings[name]
	return b, known
}

func (s *playedState) PutSetting(_ context.Context, name string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails == nil {
		s.settings[name] = value
	}
	return s.fails
}

func (s *playedState) ListNodes() []record.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.nodes)
}

func (s *playedState) NodeGone(_ context.Context, id ids.Node, reason string, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.nodes {
		if s.nodes[i].ID == id {
			s.nodes[i].State, s.nodes[i].Reason = record.NodeDead, reason
			return nil
		}
	}
	return record.ErrNotFound
}

func (s *playedState) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// playedLinks note what is ended.
type playedLinks struct {
	mu      sync.Mutex
	dead    []uint32
	redials int
}

func (l *playedLinks) Dead(node uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = append(l.dead, node)
}

func (l *playedLinks) Redial() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.redials++
}

func (l *playedLinks) ended() ([]uint32, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.dead), l.redials
}

// world is a head with some nodes.
type world struct {
	t       *testing.T
	cluster pki.Cluster
	state   *playedState
	links   *playedLinks
	keeper  *Keeper
	mu      sync.Mutex
	own     pki.Token // what the head's machine has now
	renewed int
}

func newWorld(t *testing.T, token pki.Token) *world {
	t.Helper()
	w := &world{t: t, cluster: pki.NewCluster(), state: &playedState{settings: map[string][]byte{}, last: 77}, links: &playedLinks{}, own: token}
	w.keeper = w.open(token)
	return w
}

// open opens a keeper on the state, as a head that is started with a token.
func (w *world) open(token pki.Token) *Keeper {
	w.t.Helper()
	k, err := Open(w.t.Context(), w.options(token, false))
	if err != nil {
		w.t.Fatal(err)
	}
	k.Renews(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.renewed++
	})
	k.Serve(w.links)
	return k
}

func (w *world) options(token pki.Token, insecure bool) Options {
	return Options{State: w.state, Cluster: w.cluster, Token: token, Insecure: insecure, Own: w.ownToken, Log: slog.New(slog.DiscardHandler)}
}

func (w *world) ownToken() (pki.Token, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.own, nil
}

func (w *world) setOwn(t pki.Token) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own = t
}

// playedNode is a node that renews when it is told to.
type playedNode struct {
	t       *testing.T
	id      pki.Identity
	keys    *pki.Keys
	peer    *wire.Peer
	mu      sync.Mutex
	token   pki.Token
	silent  bool
	revoked []uint32
}

// node adds a node, which is alive and connected.
func (w *world) node(number uint32, name string, token pki.Token) *playedNode {
	w.t.Helper()
	w.state.add(record.Node{ID: ids.Node{byte(number), 0xaa, 0xbb}, Number: number, Name: name, Address: "10.0.0.1", State: record.NodeAlive})
	keys, err := pki.NewKeys()
	if err != nil {
		w.t.Fatal(err)
	}
	n := &playedNode{t: w.t, id: pki.Identity{Cluster: w.cluster, Generation: 1, Role: pki.RoleNode, Number: number}, keys: keys, token: token}
	w.connect(n)
	return n
}

func (s *playedState) add(n record.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes = append(s.nodes, n)
}

// connect connects a node with the keeper.
func (w *world) connect(n *playedNode) {
	near, far := net.Pipe()
	head := wire.NewPeer(near, func(m *wire.Message) {
		if !w.keeper.Handle(n.id, m) {
			w.t.Errorf("message %d is none about keys", m.Type)
		}
	}, nil)
	n.peer = wire.NewPeer(far, n.handle, nil)
	head.Start()
	n.peer.Start()
	w.keeper.Connected(n.id.Number, head)
	w.t.Cleanup(func() { head.Close(); n.peer.Close() })
}

func (n *playedNode) handle(m *wire.Message) {
	switch m.Type {
	case linkmsg.TRevoked:
		var r linkmsg.Revoked
		if err := linkmsg.Decode("revoked", m.Body, 1<<20, &r); err != nil {
			n.t.Error(err)
		}
		n.hear(r.Numbers)
	case linkmsg.TRekey:
		var asked linkmsg.Number
		if err := linkmsg.Decode("asked", m.Body, 1<<10, &asked); err != nil {
			n.t.Error(err)
		}
		go n.renew(asked.N)
	}
}

func (n *playedNode) hear(numbers []uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.revoked = numbers
}

func (n *playedNode) heard(number uint32) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.revoked, number)
}

// has gives the machine another token.
func (n *playedNode) has(t pki.Token) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.token = t
}

func (n *playedNode) set(silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent = silent
}

func (n *playedNode) tag() ([]byte, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.token.Tag(linkmsg.TagText(n.id.String())), n.silent
}

// renew asks for a certificate and installs it.
func (n *playedNode) renew(asked uint64) {
	tag, silent := n.tag()
	if silent {
		return
	}
	request, err := n.keys.Request()
	if err != nil {
		n.t.Error(err)
		return
	}
	body, err := linkmsg.Encode("a renewal", &linkmsg.Renew{Request: request, Asked: asked, Tag: tag})
	if err != nil {
		n.t.Error(err)
		return
	}
	var raw msgpack.RawMessage
	var a linkmsg.Renewed
	if err := n.peer.Call(context.Background(), linkmsg.TRenew, body, &raw); err != nil {
		return // revoked, or the test is over
	}
	if err := linkmsg.Decode("renewed", raw, 1<<20, &a); err != nil {
		n.t.Error(err)
		return
	}
	if id, err := n.keys.Install(a.Cert, a.Authorities); err != nil || id != n.id {
		n.t.Errorf("installed %v: %v", id, err)
	}
	body, err = linkmsg.Encode("keys", &linkmsg.Number{N: a.Version})
	if err == nil {
		_ = n.peer.Push(linkmsg.TRekeyed, body)
	}
}

// until waits until something is true.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	end := time.After(soon)
	for !is() {
		select {
		case <-w.keeper.hearing():
		case <-time.After(5 * time.Millisecond):
		case <-end:
			w.t.Fatalf("it never came: %s", what)
		}
	}
}

// steps runs the steps of replacements.
func (w *world) steps() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	k := w.keeper
	go func() {
		defer close(done)
		k.Step(ctx, nil)
	}()
	w.t.Cleanup(func() { cancel(); <-done })
}

func (w *world) admin(token pki.Token, q linkmsg.Admin) (linkmsg.AdminAnswer, error) {
	return w.keeper.Admin(w.t.Context(), token, q)
}

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
