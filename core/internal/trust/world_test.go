package trust

import (
	"context"
	"log/slog"
	"net"
	"slices"
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
