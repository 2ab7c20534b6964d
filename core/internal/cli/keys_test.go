package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/link"
	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/trust"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

func TestKeys_WrongCommandLines_SayWhatIsThere(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", t.TempDir())
	for _, c := range []struct {
		words []string
		says  string
	}{
		{[]string{"token", "dance"}, `no command "dance"`},
		{[]string{"authority", "finish"}, `no command "finish"`},
		{[]string{"revoke"}, "no node is named"},
		{[]string{"revoke", "--insecure"}, "no node is named"},
		{[]string{"token", "rotate", "--force"}, "--force"},
		{[]string{"token", "status", "--address=here"}, "--address"},
		{[]string{"token", "status"}, "no cluster is running on this machine"},
	} {
		var out, errs bytes.Buffer
		if status := Main(c.words, "1.2.3", &out, &errs); status == 0 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%q: status %d, %s", c.words, status, errs.String())
		}
	}
	for _, words := range [][]string{{"token"}, {"authority", "--help"}, {"token", "rotate", "--help"}, {"revoke", "--help"}} {
		var out, errs bytes.Buffer
		if status := Main(words, "1.2.3", &out, &errs); status != 0 || !strings.Contains(out.String(), "usage: eagleray "+words[0]) {
			t.Errorf("%q: status %d, %s", words, status, out.String())
		}
	}
}

func TestTokenRotate_NoHeadAnswers_WritesNoFile(t *testing.T) {
	t.Setenv("EAGLERAY_TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "token")
	if err := pki.WriteToken(path, pki.NewToken(path)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := runToken([]string{"rotate", "--address=127.0.0.1:1", "--token-file=" + path}, "1.2.3", &out)
	if !errors.Is(err, join.ErrNoLeader) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
	t.Setenv(rayTokenVar, strings.Repeat("ab", 32))
	err = runToken([]string{"rotate", "--address=127.0.0.1:1"}, "1.2.3", &out)
	var wrong *usageError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--new-token-file") {
		t.Errorf("the token is in a variable: %v", err)
	}
	if _, err := os.Stat(path + ".new.new"); err == nil {
		t.Error("another file was written")
	}
}

// keyHead is a head that people ask about keys.
type keyHead struct {
	keeper  *trust.Keeper
	address string
	path    string // the file of its token

	mu   sync.Mutex
	lose linkmsg.AdminOp   // whose next answer is lost
	past []linkmsg.AdminOp // which it does not know, as a former release
}

// keyState is its state, which has no nodes.
type keyState struct {
	mu       sync.Mutex
	settings map[string][]byte
}

func (s *keyState) Setting(name string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, known := s.settings[name]
	return b, known
}

func (s *keyState) PutSetting(_ context.Context, name string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[name] = value
	return nil
}

func (s *keyState) ListNodes() []record.Node { return nil }

func (s *keyState) LastNumber() (uint32, error) { return 0, nil }

func (s *keyState) NodeGone(context.Context, ids.Node, string, int64) error { return nil }

// noHeads knows of no heads.
type noHeads struct{ unused }

type unused interface{ join.Heads }

func (noHeads) Heads() linkmsg.Heads { return linkmsg.Heads{} }

// alwaysFresh is the state of a head that is alone; nothing else of it is asked for.
type alwaysFresh struct{ join.State }

func (alwaysFresh) Fresh(context.Context) error { return nil }

func newKeyHead(t *testing.T) *keyHead {
	t.Helper()
	t.Setenv("EAGLERAY_TMPDIR", t.TempDir())
	h := &keyHead{path: filepath.Join(t.TempDir(), "token")}
	token := pki.NewToken(h.path)
	if err := pki.WriteToken(h.path, token); err != nil {
		t.Fatal(err)
	}
	self := pki.Identity{Cluster: pki.NewCluster(), Generation: 1, Role: pki.RoleHead}
	state, log := &keyState{settings: map[string][]byte{}}, slog.New(slog.DiscardHandler)
	var err error
	own := func() (pki.Token, error) { return pki.ReadToken(h.path) }
	if h.keeper, err = trust.Open(t.Context(), trust.Options{State: state, Cluster: self.Cluster, Token: token, Own: own, Log: log}); err != nil {
		t.Fatal(err)
	}
	cert, err := process.OwnCertificate(self, h.keeper.Sign)
	if err != nil {
		t.Fatal(err)
	}
	links, err := link.Open(link.Config{
		Self: self, TLS: cert.TLS(), Resolve: func(uint32) []string { return nil },
		Serve: func(_ uint32, s *link.Stream) { s.Close() }, Bulk: func(_ uint32, c net.Conn) { c.Close() },
		Control: func(uint32, *wire.Peer) wire.Handler { return func(m *wire.Message) { m.Peer().Close() } },
		Down:    func(uint32, error) {}, Log: log,
		Join: func(ctx context.Context, from *pki.Stranger, c pki.Channel) {
			s := join.Server{Self: self, Tokens: h.keeper.Tokens, State: alwaysFresh{}, Heads: noHeads{}, Release: "1.2.3", Log: log}
			s.Admin = func(ctx context.Context, proved pki.Token, q linkmsg.Admin) (linkmsg.AdminAnswer, error) {
				return h.admin(ctx, from, proved, q)
			}
			s.Serve(ctx, from, c)
		},
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
	h.address = listener.Addr().String()
	return h
}

// plays lets the answer to a request be lost, once, and other requests be unknown.
func (h *keyHead) plays(lose linkmsg.AdminOp, past ...linkmsg.AdminOp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lose, h.past = lose, past
}

// lost reports whether the answer was lost.
func (h *keyHead) lost() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lose == ""
}

// admin does what is asked, and loses the answer if it is to.
func (h *keyHead) admin(ctx context.Context, from *pki.Stranger, proved pki.Token, q linkmsg.Admin) (linkmsg.AdminAnswer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.past, q.Op) {
		return linkmsg.AdminAnswer{}, errors.New("this head does not know the request")
	}
	a, err := h.keeper.Admin(ctx, proved, q)
	if q.Op == h.lose {
		h.lose = ""
		from.Close()
	}
	return a, err
}

// token runs a command of `eagleray token`.
func (h *keyHead) token(command string, more ...string) (string, error) {
	var out bytes.Buffer
	err := runToken(append([]string{command, "--address=" + h.address, "--token-file=" + h.path}, more...), "1.2.3", &out)
	return out.String(), err
}

func TestTokenRotate_AnswerIsLost_TheNewTokenIsKept(t *testing.T) {
	h := newKeyHead(t)
	h.plays(linkmsg.AdminAddToken)
	said, err := h.token("rotate")
	if err != nil || !strings.Contains(said, h.path+".new") || !h.lost() {
		t.Fatalf("%q, %v, the answer was lost: %t", said, err, h.lost())
	}
	next, err := pki.ReadToken(h.path + ".new")
	if err != nil {
		t.Fatal("the only copy of the new token is gone: ", err)
	}
	tokens := h.keeper.Tokens()
	if len(tokens) != 2 || tokens[1].Text() != next.Text() {
		t.Errorf("the cluster has %d tokens, and the second one must be in the file", len(tokens))
	}
}

// A head of a former release refuses a token that it has already, so the second attempt is refused though the first one has changed something.
func TestTokenRotate_RefusedAfterTheFirstAttempt_AsksWhetherTheTokenIsThere(t *testing.T) {
	add, find := linkmsg.AdminAddToken, linkmsg.AdminFindToken
	for _, c := range []struct {
		about  string
		added  bool
		past   []linkmsg.AdminOp
		says   string // the error; empty: there is none
		stands bool   // the file
	}{
		{"it is there", true, []linkmsg.AdminOp{add}, "", true},
		{"the head cannot tell", true, []linkmsg.AdminOp{add, find}, "nobody knows whether the head has the new token", true},
		{"it is not there", false, []linkmsg.AdminOp{add}, "does not know the request", false},
	} {
		h := newKeyHead(t)
		token, err := pki.ReadToken(h.path)
		if err != nil {
			t.Fatal(err)
		}
		path := h.path + ".new"
		next := pki.NewToken(path)
		if err := pki.WriteToken(path, next); err != nil {
			t.Fatal(err)
		}
		if c.added {
			if _, err := h.keeper.Admin(t.Context(), token, linkmsg.Admin{Op: add, Token: next.Text()}); err != nil {
				t.Fatal(err)
			}
		}
		h.plays("", c.past...)
		k := keys{client: &join.Client{Heads: []string{h.address}, Token: token, Release: "1.2.3"}}
		_, err = k.addToken(next, path)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.about, err)
		}
		if _, err := os.Stat(path); (err == nil) != c.stands {
			t.Errorf("%s: the file: %v", c.about, err)
		}
	}
}

// The file of a new token is lost before anybody has copied it. Without a way out no token could be replaced any more.
func TestTokenWithdraw_NewTokenIsLost_AnotherOneCanBeMade(t *testing.T) {
	h := newKeyHead(t)
	if _, err := h.token("withdraw"); err == nil || !strings.Contains(err.Error(), "one token only") {
		t.Errorf("nothing is to be withdrawn: %v", err)
	}
	if _, err := h.token("rotate"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(h.path + ".new"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.token("rotate"); err == nil || !strings.Contains(err.Error(), "token withdraw") {
		t.Errorf("a third token: %v", err)
	}
	if _, err := os.Stat(h.path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a token that the cluster does not have was left: %v", err)
	}
	if said, err := h.token("withdraw"); err != nil || !strings.Contains(said, "has the old one only") || len(h.keeper.Tokens()) != 1 {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := h.token("rotate"); err != nil || len(h.keeper.Tokens()) != 2 {
		t.Errorf("after that: %v", err)
	}
}

func TestTellTokens_EachState_SaysWhatIsLeft(t *testing.T) {
	node := func(token int, heard bool) linkmsg.AdminNode {
		return linkmsg.AdminNode{Number: 2, Name: "two", Address: "10.0.0.2", Token: token, Heard: heard}
	}
	for _, c := range []struct {
		a    linkmsg.AdminAnswer
		says []string
	}{
		{linkmsg.AdminAnswer{Tokens: []string{"/a"}, HeadHas: 1, Nodes: []linkmsg.AdminNode{node(1, true)}}, []string{"one token (/a)", "two (node 2 at 10.0.0.2)", "has the token"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a"}, HeadHas: 1, Nodes: []linkmsg.AdminNode{node(0, true)}}, []string{"no token of this cluster", "cannot join again"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 2, Nodes: []linkmsg.AdminNode{node(1, true)}}, []string{"old   /a", "new   /b", "has the old token", "where it is missing"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 2, Nodes: []linkmsg.AdminNode{node(0, false)}}, []string{"has not answered", "where it is missing"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 1, Nodes: []linkmsg.AdminNode{node(2, true)}}, []string{"has the new token", "where it is missing"}},
		{linkmsg.AdminAnswer{Tokens: []string{"/a", "/b"}, HeadHas: 2, Nodes: []linkmsg.AdminNode{node(2, true)}}, []string{"All machines have the new token", "token finish"}},
	} {
		var out bytes.Buffer
		tellTokens(&out, &c.a)
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}
