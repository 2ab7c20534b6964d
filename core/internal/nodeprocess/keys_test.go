package nodeprocess

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// soon is far more than anything here takes.
const soon = 20 * time.Second

// otherHeads are what a test does not ask for.
type otherHeads interface{ join.Heads }

// keyHead is a head with keys that a test replaces.
type keyHead struct {
	join.State
	otherHeads
	self pki.Identity
	at   linkmsg.HeadAt
	own  *process.Certificate

	mu          sync.Mutex
	token       pki.Token
	authorities []*pki.Authority // the last one signs
	term        uint64
	joined      ids.Node // the node that has joined
}

func newKeyHead(t *testing.T) *keyHead {
	t.Helper()
	h := &keyHead{self: pki.Identity{Cluster: pki.NewCluster(), Generation: 1, Role: pki.RoleHead}, token: pki.NewToken("here")}
	h.authorities = []*pki.Authority{h.authority(t)}
	var err error
	if h.own, err = process.OwnCertificate(h.self, h.sign); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := &join.Server{Self: h.self, Tokens: h.tokens, State: h, Heads: h, Release: "1", Log: log, Sign: h.sign}
	links, err := link.Open(link.Config{
		Self: h.self, TLS: h.own.TLS(), Resolve: func(uint32) []string { return nil }, Join: s.Serve,
		Serve: func(_ uint32, s *link.Stream) { s.Close() },
		Bulk: func(_ uint32, c net.Conn) {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1)) // until the node ends it
		},
		Control: func(uint32, *wire.Peer) wire.Handler { return func(*wire.Message) {} },
		Down:    func(uint32, error) {}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = links.Listen(listener) }()
	t.Cleanup(links.Close)
	h.at = linkmsg.HeadAt{ID: "h", Addresses: []string{listener.Addr().String()}}
	return h
}

func (h *keyHead) authority(t *testing.T) *pki.Authority {
	t.Helper()
	a, err := pki.NewAuthority(h.self.Cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (h *keyHead) tokens() []pki.Token {
	h.mu.Lock()
	defer h.mu.Unlock()
	return []pki.Token{h.token}
}

// has gives the head other keys.
func (h *keyHead) has(t pki.Token, authorities ...*pki.Authority) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.token, h.authorities = t, authorities
	h.term++
}

func (h *keyHead) sign(request []byte, id pki.Identity) (cert []byte, authorities [][]byte, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.authorities {
		authorities = append(authorities, a.Certificate())
	}
	cert, err = h.authorities[len(h.authorities)-1].Sign(request, id, time.Now())
	return cert, authorities, err
}

// NodeNumber implements join.State.
func (h *keyHead) NodeNumber(context.Context, ids.Node) (uint32, error) { return keyNode, nil }

// Fresh implements join.State.
func (h *keyHead) Fresh(context.Context) error { return nil }

// Node implements join.State. A node that asks for a new certificate is alive.
func (h *keyHead) Node(id ids.Node) (record.Node, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.joined == id
	h.joined = id
	return record.Node{ID: id, Number: keyNode, State: record.NodeAlive}, known
}

// Heads implements join.Heads.
func (h *keyHead) Heads() linkmsg.Heads {
	h.mu.Lock()
	defer h.mu.Unlock()
	return linkmsg.Heads{Generation: 1, Term: h.term, Leads: true, All: []linkmsg.HeadAt{h.at}}
}

// Status implements join.Heads.
func (h *keyHead) Status() ([]linkmsg.HeadStatus, bool) { return nil, true }

// keyNode is the number of the node that joins.
const keyNode = 7

// join makes a node a member, with its token in a file.
func (h *keyHead) join(t *testing.T) (m *member, tokenFile string) {
	t.Helper()
	tokenFile = filepath.Join(t.TempDir(), "token")
	if err := pki.WriteToken(tokenFile, h.tokens()[0]); err != nil {
		t.Fatal(err)
	}
	c := &MemberConfig{Heads: h.at.Addresses, Listen: "127.0.0.1:0", Token: process.TokenSource{File: tokenFile}}
	o := &daemon.Options{Node: ids.NewNode(), Address: "127.0.0.1", SessionDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	m, err := joinCluster(t.Context(), c, o, "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m, tokenFile
}

// A node that hears of a replacement of the authority only when it is over, and with the token because no head is connected, ends what the old one has let in.
func TestRenew_AuthorityIsAnotherOne_ConnectionsEnd(t *testing.T) {
	h := newKeyHead(t)
	m, _ := h.join(t)
	c, err := m.Bulk(t.Context(), h.self.Number)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := c.Read(make([]byte, 1)); ended <- err }()
	if err := m.renew(t.Context(), m.keys); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Bulk(t.Context(), h.self.Number); err != nil {
		t.Fatal("a renewal without another authority: ", err)
	}
	select {
	case err := <-ended:
		t.Fatal("a renewal without another authority has ended a connection: ", err)
	default:
	}
	h.has(h.tokens()[0], h.authority(t))
	if err := m.renew(t.Context(), m.keys); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(soon):
		t.Error("a connection lives on that the old authority has let in")
	}
	if _, err := m.Bulk(t.Context(), h.self.Number); err == nil {
		t.Error("a head with a certificate of the old authority is believed")
	}
}

// The heads have all moved after the token was replaced: the node asks for them with the token that its machine has now.
func TestLookForHeads_TokenWasReplaced_AsksWithTheNewOne(t *testing.T) {
	h := newKeyHead(t)
	m, file := h.join(t)
	next := pki.NewToken("next")
	h.has(next, h.authority(t))
	m.lookForHeads()
	if now, _ := m.heads.now(); now.Term != 0 {
		t.Fatal("the old token counts")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := pki.WriteToken(file, next); err != nil {
		t.Fatal(err)
	}
	m.lookForHeads()
	if now, _ := m.heads.now(); now.Term != 1 {
		t.Error("the head is not found with the token that the machine has now")
	}
}
