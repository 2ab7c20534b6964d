package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// Bounds of a server.
const (
	headerTime  = 5 * time.Second
	requestTime = 10 * time.Second
	answerTime  = 30 * time.Second
	idleTime    = 30 * time.Second
	maxHeader   = 16 << 10
	maxBody     = 1 << 20
	maxConns    = 128
)

// Options say what a server has.
type Options struct {
	// Open are the paths that need no token. Each returns why this process is not healthy; nil: it is.
	Open map[string]func() error
	// Closed handles all other paths, for who has a token. Nil: there are none, and no token is looked at.
	Closed http.Handler
	// Tokens are those that count. Strangers can have it called for each request, so it reads no file and hashes nothing. Not needed without Closed.
	Tokens func() []pki.Token
	// NoToken lets everybody in who reaches this server, which therefore must listen at a loopback address. All other checks are made.
	NoToken bool
	// MaxBody returns how many bytes the body of a request with a token may have; 0, or no function: 1 MiB.
	MaxBody func(*http.Request) int64
	// Hosts are names of this machine that requests may be for, besides those that are always allowed.
	Hosts []string
	Log   *slog.Logger
}

// Server is a running server.
type Server struct {
	http *http.Server
	done chan struct{}
}

// Serve serves a listener until Close.
func Serve(l net.Listener, o Options) *Server {
	name, _ := os.Hostname() // empty: it has none
	h := &handler{o: o, hosts: append([]string{"localhost", name}, o.Hosts...), tokens: tokens{all: o.Tokens}}
	s := &Server{done: make(chan struct{}), http: &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: answerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnContext: withPlace,
		ErrorLog:    log.New(io.Discard, "", 0), // strangers can cause these without end
	}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(newBounded(l)); !errors.Is(err, http.ErrServerClosed) {
			o.Log.Error("an HTTP server takes no connections any more", "address", l.Addr().String(), "error", err)
		}
	}()
	return s
}

// Close ends the server and its connections.
func (s *Server) Close() {
	if s == nil {
		return
	}
	_ = s.http.Close() // the listener may have been closed before
	<-s.done
}

// handler makes the checks.
type handler struct {
	o      Options
	hosts  []string
	tokens tokens
}

// refusal is an answer to a request that is not served.
type refusal struct {
	status int
	text   string
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Content-Security-Policy", "default-src 'none'")
	head.Set("X-Content-Type-Options", "nosniff")
	if no := fromAnotherSite(r); no != nil {
		no.tell(w)
		return
	}
	if healthy, open := h.o.Open[r.URL.Path]; open {
		health(w, r, healthy)
		return
	}
	if no := h.refuses(r); no != nil {
		no.tell(w)
		return
	}
	if !h.o.NoToken {
		proved(r.Context())
	}
	most := int64(maxBody)
	if h.o.MaxBody != nil {
		if own := h.o.MaxBody(r); own > 0 {
			most = own
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	h.o.Closed.ServeHTTP(w, r)
}

// tell answers, and has the connection end: its body may not have been read.
func (no *refusal) tell(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if no.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(no.status)
	fmt.Fprintln(w, no.text)
}

// health answers a question for health.
func health(w http.ResponseWriter, r *http.Request, healthy func() error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		(&refusal{http.StatusMethodNotAllowed, "only GET and HEAD are allowed"}).tell(w)
		return
	}
	if healthy() != nil { // the reason is for the log, and not for strangers
		(&refusal{http.StatusServiceUnavailable, "unhealthy"}).tell(w)
		return
	}
	w.Header().Set("Connection", "close") // who has no token keeps no place
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, "success")
}

// fromAnotherSite refuses what a page of another site has made a browser ask. Programs send neither of the headers.
func fromAnotherSite(r *http.Request) *refusal {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return &refusal{http.StatusForbidden, "requests of other sites are refused"}
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return &refusal{http.StatusForbidden, "requests of other sites are refused"}
		}
	}
	return nil
}

// refuses makes the checks of paths that are not open.
func (h *handler) refuses(r *http.Request) *refusal {
	if !h.allowed(r.Host) {
		return &refusal{http.StatusMisdirectedRequest, "requests for this host are refused"}
	}
	if h.o.Closed == nil {
		return &refusal{http.StatusNotFound, "nothing is here"}
	}
	if h.o.NoToken {
		return nil
	}
	text, given := bearer(r)
	if !given {
		return &refusal{http.StatusUnauthorized, "the cluster's token is needed: Authorization: Bearer"}
	}
	switch known, tried := h.tokens.known(r.Context(), text); {
	case !tried:
		return &refusal{http.StatusTooManyRequests, "too many tokens were tried"}
	case !known:
		return &refusal{http.StatusUnauthorized, "this is not the cluster's token"}
	}
	return nil
}

// allowed reports whether a request may be for a host. A page of a stranger can make a browser ask this server under the stranger's own name (DNS rebinding),
// but not under an address, nor under names that only machines of this network can have.
func (h *handler) allowed(host string) bool {
	name := host
	if n, _, err := net.SplitHostPort(host); err == nil {
		name = n
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	for _, one := range h.hosts {
		if one != "" && name == strings.ToLower(one) {
			return true
		}
	}
	// Names of services of Kubernetes: none of these ends can be bought.
	return strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local")
}

// bearer returns the token of a request. The second name is that of Ray's clients.
func bearer(r *http.Request) (string, bool) {
	for _, name := range []string{"Authorization", "X-Ray-Authorization"} {
		kind, text, ok := strings.Cut(r.Header.Get(name), " ")
		if ok && strings.EqualFold(kind, "Bearer") && text != "" {
			return strings.TrimSpace(text), true
		}
	}
	return "", false
}

// tryPause is how often a text is tried that is no 64 hexadecimal digits, and is not known.
const tryPause = 500 * time.Millisecond

// tokens knows which texts are tokens.
type tokens struct {
	all func() []pki.Token

	mu     sync.Mutex
	right  pki.Token // that a text has shown to be right
	text   string    // its text
	tried  time.Time
	trying bool
}

// known reports whether a text is a token that counts. Not tried: too many were tried.
func (t *tokens) known(ctx context.Context, text string) (known, tried bool) {
	if pki.IsTokenText(text) {
		one, err := pki.ParseToken(text, "a request")
		return err == nil && t.counts(one), true
	}
	right, may := t.remembered(text)
	if right != nil {
		return t.counts(*right), true
	}
	if !may || ctx.Err() != nil {
		return false, false
	}
	one, err := pki.ParseToken(text, "a request")
	known = err == nil && t.counts(one)
	t.remember(one, text, known)
	return known, true
}

func (t *tokens) counts(one pki.Token) bool {
	if t.all == nil {
		return false
	}
	for _, other := range t.all() {
		if one.Equal(other) {
			return true
		}
	}
	return false
}

// remembered returns the token of a text that was right before, or whether the text may be tried now.
func (t *tokens) remembered(text string) (right *pki.Token, may bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text != "" && pki.SameText(t.text, text) {
		one := t.right
		return &one, true
	}
	if t.trying || time.Since(t.tried) < tryPause {
		return nil, false
	}
	t.trying = true
	return nil, true
}

func (t *tokens) remember(one pki.Token, text string, right bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trying, t.tried = false, time.Now()
	if right {
		t.right, t.text = one, text
	}
}
