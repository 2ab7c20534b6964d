package join

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// playedState is what a played head knows of the nodes.
type playedState struct {
	mu    sync.Mutex
	last  uint32
	nodes map[ids.Node]record.Node
	fails error // of NodeNumber and Fresh
	fresh int   // how often it was asked for
}

func (s *playedState) NodeNumber(context.Context, ids.Node) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		return 0, s.fails
	}
	s.last++
	return s.last, nil
}

func (s *playedState) Fresh(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh++
	return s.fails
}

func (s *playedState) Node(id ids.Node) (record.Node, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.nodes[id]
	return n, ok
}

func (s *playedState) NodeGone(_ context.Context, id ids.Node, reason string, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.nodes[id]
	if !ok {
		return record.ErrNotFound
	}
	n.State, n.Reason = record.NodeDead, reason
	s.nodes[id] = n
	return nil
}

func (s *playedState) Heads() linkmsg.Heads { return linkmsg.Heads{} }

func (s *playedState) Status() ([]linkmsg.HeadStatus, bool) { return nil, false }

func (s *playedState) AddHead(context.Context, linkmsg.HeadAt) (uint32, error) { return 77, nil }

func (s *playedState) Change(context.Context, linkmsg.HeadChange, uint32, bool) (bool, error) {
	return false, nil
}

// fail lets NodeNumber fail.
func (s *playedState) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// lastNumber is the highest number that was given.
func (s *playedState) lastNumber() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *playedState) set(n record.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[n.ID] = n
}

// playedHead is a head that listens at a port of this machine.
type playedHead struct {
	state   *playedState
	server  *Server
	token   pki.Token
	address string
	signs   bool
}

// syncedText is what a head has logged.
type syncedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *syncedText) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *syncedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newHead(t *testing.T, insecure bool, more ...func(*Server)) *playedHead {
	return newLoggingHead(t, insecure, slog.New(slog.DiscardHandler), more...)
}

func newLoggingHead(t *testing.T, insecure bool, log *slog.Logger, more ...func(*Server)) *playedHead {
	h := &playedHead{state: &playedState{nodes: map[ids.Node]record.Node{}}, token: pki.NewToken("the test")}
	self := pki.Identity{Cluster: pki.NewCluster(), Generation: 3, Role: pki.RoleHead}
	tokens := func() []pki.Token { return []pki.Token{h.token} }
	h.server = &Server{Self: self, Tokens: tokens, State: h.state, Heads: h.state, Release: "2.0", Log: log}
	h.server.Sealed = func() ([]byte, error) { return nil, nil }
	h.server.Sign = func([]byte, pki.Identity) ([]byte, [][]byte, error) { return nil, nil, nil }
	for _, change := range more {
		change(h.server)
	}
	var config func(...string) *tls.Config
	if !insecure {
		config = h.certify(t, self)
	}
	links, err := link.Open(link.Config{
		Self: self, TLS: config, Tokens: h.server.Tokens, Join: h.server.Serve, Resolve: func(uint32) []string { return nil },
		Serve: func(_ uint32, s *link.Stream) { s.Close() }, Bulk: func(_ uint32, c net.Conn) { c.Close() },
		Control: func(uint32, *wire.Peer) wire.Handler { return func(m *wire.Message) { m.Peer().Close() } },
		Down:    func(uint32, error) {}, Log: h.server.Log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(links.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.address = l.Addr().String()
	go func() { _ = links.Listen(l) }()
	return h
}

// certify gives the head an authority and a certificate.
func (h *playedHead) certify(t *testing.T, self pki.Identity) func(...string) *tls.Config {
	authority, err := pki.NewAuthority(self.Cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	request, err := keys.Request()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := authority.Sign(request, self, time.Now())
	if err == nil {
		_, err = keys.Install(cert, [][]byte{authority.Certificate()})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.signs = true
	h.server.Sign = func(request []byte, id pki.Identity) ([]byte, [][]byte, error) {
		cert, err := authority.Sign(request, id, time.Now())
		return cert, [][]byte{authority.Certificate()}, err
	}
	return keys.TLS
}

func (h *playedHead) client(node byte) *Client {
	return &Client{Heads: []string{h.address}, Token: h.token, Insecure: !h.signs, Node: ids.Node{node}, Release: "2.0"}
}

func TestJoin_NewNodes_GetNumbersAndCertificates(t *testing.T) {
	for _, insecure := range []bool{false, true} {
		t.Run(fmt.Sprintf("insecure=%v", insecure), func(t *testing.T) {
			h := newHead(t, insecure)
			for want := uint32(1); want <= 2; want++ {
				m, err := h.client(byte(want)).Join(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				id := pki.Identity{Cluster: h.server.Self.Cluster, Generation: 3, Role: pki.RoleNode, Number: want}
				if m.Identity != id || m.Address != "127.0.0.1" || (m.Keys == nil) != insecure {
					t.Errorf("got %+v, want %v", m, id)
				}
			}
		})
	}
}

// A node of another release that speaks the same protocol joins, and both sides are warned.
func TestJoin_OtherReleaseOfTheSameProtocol_IsLetInWithAWarning(t *testing.T) {
	log := new(syncedText)
	h := newLoggingHead(t, true, slog.New(slog.NewTextHandler(log, nil)))
	same, err := h.client(1).Join(t.Context())
	if err != nil || same.Warning != "" || log.String() != "" {
		t.Errorf("the same release: %q, %v, the head's log:\n%s", same.Warning, err, log.String())
	}
	c := h.client(2)
	c.Release = "1.0"
	other, err := c.Join(t.Context())
	if err != nil || !strings.Contains(other.Warning, `is Eagle Ray "2.0" and this is Eagle Ray "1.0"`) || !strings.Contains(other.Warning, "install the same release") {
		t.Errorf("another release: %q, %v", other.Warning, err)
	}
	if text := strings.ReplaceAll(log.String(), `\"`, `"`); strings.Count(text, `is Eagle Ray "1.0" and this is Eagle Ray "2.0"`) != 1 {
		t.Errorf("the head's log has\n%s", text)
	}
}

// A head that is behind the others takes the proof of a token that was ended. It looks at the newest state before it lets anybody in.
func TestJoin_TokenWasEndedElsewhere_NobodyIsLetIn(t *testing.T) {
	ended := errors.New("the token was ended")
	h := newHead(t, false, func(s *Server) {
		s.Counts = func(proved pki.Token) error {
			state := s.State.(*playedState)
			state.mu.Lock()
			defer state.mu.Unlock()
			if state.fresh == 0 || !proved.Equal(s.Tokens()[0]) {
				t.Errorf("%v is judged by a state that was refreshed %d times", proved, state.fresh)
			}
			return ended
		}
	})
	if _, err := h.client(1).Join(t.Context()); err == nil || !strings.Contains(err.Error(), ended.Error()) {
		t.Errorf("a node with an ended token: %v", err)
	}
	if _, err := h.client(2).JoinHead(t.Context(), linkmsg.HeadAt{ID: "h", Addresses: []string{"127.0.0.1:1"}}); err == nil || !strings.Contains(err.Error(), ended.Error()) {
		t.Errorf("a head with an ended token: %v", err)
	}
	h.state.mu.Lock()
	defer h.state.mu.Unlock()
	if h.state.last != 0 {
		t.Errorf("%d numbers were given", h.state.last)
	}
}

func TestRenew_OnlyLivingNodes_GetACertificateForTheirNumber(t *testing.T) {
	h := newHead(t, false)
	c := h.client(7)
	m, err := c.Join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := record.Node{ID: ids.Node{7}, Number: m.Identity.Number, State: record.NodeAlive}
	h.state.set(n)
	before := m.Keys.RenewAt()
	if err := c.Renew(t.Context(), m.Keys); err != nil || m.Keys.RenewAt().Before(before) {
		t.Errorf("renewed: %v, again at %v, before at %v", err, m.Keys.RenewAt(), before)
	}
	if n := h.state.lastNumber(); n != 1 {
		t.Errorf("renewing has used up %d numbers", n-1)
	}
	if _, err := c.Join(t.Context()); err == nil || !strings.Contains(err.Error(), "has joined already") {
		t.Errorf("joined twice: %v", err)
	}
	n.State = record.NodeDead
	h.state.set(n)
	var refused *pki.RefusedError
	if err := c.Renew(t.Context(), m.Keys); !errors.As(err, &refused) || !strings.Contains(err.Error(), "is not alive in this cluster") {
		t.Errorf("a dead node: %v", err)
	}
	if err := h.client(8).Renew(t.Context(), m.Keys); !errors.As(err, &refused) {
		t.Errorf("an unknown node: %v", err)
	}
}

func TestEnded_Warden_NodeIsDeadWithTheReason(t *testing.T) {
	h := newHead(t, false)
	if err := h.client(1).Ended(t.Context(), "it was stopped"); err != nil {
		t.Errorf("a node that has never registered: %v", err)
	}
	h.state.set(record.Node{ID: ids.Node{1}, Number: 1, State: record.NodeAlive})
	if err := h.client(1).Ended(t.Context(), strings.Repeat("ä", 3*maxReason)); err != nil {
		t.Fatal(err)
	}
	if n, _ := h.state.Node(ids.Node{1}); n.State != record.NodeDead || len(n.Reason) != maxReason {
		t.Errorf("the node is %s, with a reason of %d bytes", n.State, len(n.Reason))
	}
}

func TestJoin_StateFails_SaysWhyAtOnce(t *testing.T) {
	h := newHead(t, false)
	h.state.fail(errors.New("the log is full"))
	begun := time.Now()
	if _, err := h.client(1).Join(t.Context()); err == nil || !strings.Contains(err.Error(), "the log is full") || time.Since(begun) > Patience/2 {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

func TestJoin_HeadComesLater_IsTriedAgain(t *testing.T) {
	h := newHead(t, false)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	l.Close()
	c := h.client(1)
	c.Heads = []string{gone, h.address}
	if _, err := c.Join(t.Context()); err != nil {
		t.Errorf("the second address answers, and the error is %v", err)
	}
	c.Heads = []string{gone}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Join(ctx); err == nil || !strings.Contains(err.Error(), gone) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("no head: %v", err)
	}
}

// The patience ends during some attempt, whose error says only that. So the error of the attempt before is told.
func TestJoin_TimeEndsDuringAnAttempt_TheOneBeforeIsTold(t *testing.T) {
	h := newHead(t, true)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		first, err := l.Accept()
		if err == nil {
			first.Close() // the others are never accepted: the kernel connects them, and nobody answers
		}
	}()
	c := h.client(1)
	c.Heads = []string{l.Addr().String()}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := c.Join(ctx); err == nil || !strings.Contains(err.Error(), "leave --insecure out here") {
		t.Errorf("the first attempt was refused and the second one had no answer: %v", err)
	}
}

// What a process says behind its proof is checked like anything else that is read.
func TestServer_WrongRequests_AreRefusedWithAText(t *testing.T) {
	h := newHead(t, false)
	ask := func(body []byte) error {
		conn, c, err := link.DialJoin(t.Context(), h.address, false)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = pki.JoinClient(t.Context(), c, h.token, pki.Ask{Body: body})
		return err
	}
	encode := func(q linkmsg.Join) []byte {
		b, err := linkmsg.Encode("a request", &q)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := linkmsg.Join{Version: linkmsg.Version, MinVersion: linkmsg.MinVersion, Release: "1.0", Kind: linkmsg.JoinNode, Node: ids.Node{1}}
	newer, nameless, odd := good, good, good
	newer.Version, newer.MinVersion, newer.Release = 99, 98, "9.0"
	nameless.Node = ids.Node{}
	odd.Kind = "gateway"
	for want, body := range map[string][]byte{
		"of 127.0.0.1": []byte("\xc1"),
		`is Eagle Ray "9.0" and this is Eagle Ray "2.0"`: encode(newer),
		"names no node":                encode(nameless),
		`does not know the request`:    encode(odd),
		"unusable certificate request": encode(good), // there is none
	} {
		if err := ask(body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAdmin_IsAskedWithTheTokenThatWasProved(t *testing.T) {
	h := newHead(t, false)
	var refused *pki.RefusedError
	if _, err := h.client(0).Admin(t.Context(), linkmsg.Admin{Op: linkmsg.AdminStatus}); !errors.As(err, &refused) || strings.Contains(err.Error(), "not now") {
		t.Errorf("a head without keys: %v", err)
	}
	admin := &playedAdmin{}
	h = newHead(t, false, func(s *Server) { s.Admin = admin.do })
	got, err := h.client(0).Admin(t.Context(), linkmsg.Admin{Op: linkmsg.AdminStatus})
	if err != nil || len(got.Tokens) != 1 || got.Tokens[0] != h.token.From() {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := h.client(0).Admin(t.Context(), linkmsg.Admin{Op: linkmsg.AdminRevoke}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "not now") {
		t.Errorf("a refusal: %v", err)
	}
	other := h.client(0)
	other.Token = pki.NewToken("nowhere")
	if _, err := other.Admin(t.Context(), linkmsg.Admin{Op: linkmsg.AdminStatus}); !errors.Is(err, pki.ErrWrongToken) {
		t.Errorf("another token: %v", err)
	}
}

// playedAdmin answers questions and refuses changes.
type playedAdmin struct{}

func (*playedAdmin) do(_ context.Context, proved pki.Token, q linkmsg.Admin) (a linkmsg.AdminAnswer, err error) {
	if q.Op != linkmsg.AdminStatus {
		return a, errors.New("not now")
	}
	return linkmsg.AdminAnswer{Tokens: []string{proved.From()}, Proved: 1}, nil
}

// leadingState is the state of a head that leads.
type leadingState struct{ *playedState }

func (leadingState) Status() ([]linkmsg.HeadStatus, bool) {
	return []linkmsg.HeadStatus{{Leads: true}}, true
}

// A head that is cut off from the others, or whose disk does not answer, does not know who leads. The others are asked, too.
func TestStatus_FirstHeadKnowsNoLeader_AnotherIsAsked(t *testing.T) {
	cutOff := newHead(t, true)
	leads := newHead(t, true, func(s *Server) { s.Heads, s.Tokens = leadingState{&playedState{}}, cutOff.server.Tokens })
	c := cutOff.client(1)
	c.Heads = []string{cutOff.address, leads.address}
	list, _, err := c.Status(t.Context())
	if err != nil || len(list) != 1 || !list[0].Leads {
		t.Errorf("the heads are %+v, %v", list, err)
	}
}
