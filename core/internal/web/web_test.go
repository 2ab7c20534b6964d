package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core/internal/pki"
)

// served is a server with one open path and one closed one.
type served struct {
	address string
	sick    atomic.Bool
	bodies  atomic.Int64
}

const longText = "a text that people have thought of"

func serve(t *testing.T, tokens ...pki.Token) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{address: l.Addr().String()}
	closed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		s.bodies.Store(n)
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprint(w, "the secret")
	})
	server := Serve(l, Options{
		Open: map[string]func() error{"/health": func() error {
			if s.sick.Load() {
				return errors.New("the disk of machine seven is full")
			}
			return nil
		}},
		Closed: closed, Tokens: func() []pki.Token { return tokens }, Hosts: []string{"head.example"}, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(server.Close)
	return s
}

// ask sends a request with headers, and returns the status and the body.
func (s *served) ask(t *testing.T, method, path, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text), answer.Header
}

func TestHealth_NeedsNoTokenAndTellsNothingElse(t *testing.T) {
	s := serve(t, pki.NewToken("x"))
	if status, text, _ := s.ask(t, "GET", "/health", ""); status != 200 || text != "success" {
		t.Errorf("%d %q", status, text)
	}
	if status, text, _ := s.ask(t, "GET", "/health", "", "Host: head.default.svc.cluster.local:8265"); status != 200 || text != "success" {
		t.Errorf("for a service: %d %q", status, text)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "DANCE"} {
		if status, _, _ := s.ask(t, method, "/health", "x"); status != 405 {
			t.Errorf("%s: %d", method, status)
		}
	}
	s.sick.Store(true)
	if status, text, _ := s.ask(t, "GET", "/health", ""); status != 503 || strings.Contains(text, "disk") || strings.Contains(text, "success") {
		t.Errorf("unhealthy: %d %q", status, text)
	}
}

func TestClosed_TokenIsNeeded(t *testing.T) {
	hex, other := pki.NewToken("x"), pki.NewToken("y")
	s := serve(t, hex)
	for name, headers := range map[string][]string{
		"none":             nil,
		"another token":    {"Authorization: Bearer " + other.Text()},
		"another kind":     {"Authorization: Basic " + hex.Text()},
		"no text":          {"Authorization: Bearer "},
		"a cookie":         {"Cookie: token=" + hex.Text()},
		"a word before it": {"Authorization: Bearer x" + hex.Text()[1:]},
	} {
		status, text, head := s.ask(t, "GET", "/api/jobs/", "", headers...)
		if status != 401 && status != 429 || strings.Contains(text, "secret") || status == 401 && head.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %q", name, status, text)
		}
	}
	for _, name := range []string{"Authorization", "X-Ray-Authorization"} {
		if status, text, head := s.ask(t, "GET", "/api/jobs/", "", name+": Bearer "+hex.Text()); status != 200 || text != "the secret" || head.Get("Cache-Control") != "no-store" || head.Get("Server") != "" {
			t.Errorf("%s: %d %q %v", name, status, text, head)
		}
	}
	none := serve(t)
	if status, _, _ := none.ask(t, "GET", "/", "", "Authorization: Bearer "+hex.Text()); status != 401 {
		t.Errorf("a server without a token: %d", status)
	}
}

// A node's token may be a file with a text that is costly to hash, so nobody makes it read the file for nothing.
func TestClosed_NothingIsThere_NoTokenIsLookedAt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	token := pki.NewToken("x")
	var asked atomic.Int64
	server := Serve(l, Options{Tokens: func() []pki.Token { asked.Add(1); return []pki.Token{token} }, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(server.Close)
	s := &served{address: l.Addr().String()}
	for _, headers := range [][]string{nil, {"Authorization: Bearer " + token.Text()}, {"Authorization: Bearer " + pki.NewToken("y").Text()}, {"Authorization: Bearer " + longText}} {
		if status, text, _ := s.ask(t, "GET", "/api/jobs/", "", headers...); status != 404 {
			t.Errorf("%v: %d %q", headers, status, text)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("tokens were read %d times", n)
	}
}

func TestClosed_TokenOfAText_IsHashedSeldom(t *testing.T) {
	token, err := pki.ParseToken(longText, "x")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, token)
	var tried int
	begun := time.Now()
	for i := range 40 {
		if status, _, _ := s.ask(t, "GET", "/", "", fmt.Sprintf("Authorization: Bearer a guess of a text %d", i)); status == 401 {
			tried++
		} else if status != 429 {
			t.Fatalf("%d", status)
		}
	}
	if most := 2 + int(time.Since(begun)/tryPause); tried == 0 || tried > most {
		t.Errorf("%d of 40 guesses were hashed, at most %d may be", tried, most)
	}
	status := 0
	for end := time.Now().Add(20 * time.Second); status != 200 && time.Now().Before(end); {
		status, _, _ = s.ask(t, "GET", "/", "", "Authorization: Bearer "+longText)
	}
	for range 50 { // it is known now
		if status, _, _ = s.ask(t, "GET", "/", "", "Authorization: Bearer "+longText); status != 200 {
			t.Fatalf("%d", status)
		}
	}
}

func TestBrowser_PageOfAnotherSite_IsRefused(t *testing.T) {
	token := pki.NewToken("x")
	s := serve(t, token)
	right := "Authorization: Bearer " + token.Text()
	for name, header := range map[string]string{
		"origin": "Origin: https://evil.example", "no origin": "Origin: null", "another port": "Origin: http://127.0.0.1:1", "cross-site": "Sec-Fetch-Site: cross-site",
		"same-site": "Sec-Fetch-Site: same-site",
	} {
		for _, path := range []string{"/", "/health"} {
			if status, text, head := s.ask(t, "GET", path, "", right, header); status != 403 || strings.Contains(text, "secret") || head.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s: %d %q", name, path, status, text)
			}
		}
		if status, _, head := s.ask(t, "OPTIONS", "/", "", header, "Access-Control-Request-Method: POST"); status != 403 || head.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s, asked before: %d", name, status)
		}
	}
	if status, _, _ := s.ask(t, "GET", "/", "", right, "Origin: http://"+s.address, "Sec-Fetch-Site: same-origin"); status != 200 {
		t.Errorf("a page of this server: %d", status)
	}
}

func TestHost_NameOfAStranger_IsRefused(t *testing.T) {
	token := pki.NewToken("x")
	s := serve(t, token)
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "svc.evil.example": 421, "evil.svc.example": 421, "head.example.com": 421,
		"": 421, "localhost": 200, "LOCALHOST:8265": 200, "10.1.2.3:8265": 200, "[::1]:8265": 200, own: 200, "head.example": 200, "head.example.:80": 200,
		"eagleray-head.default.svc": 200, "eagleray-head.default.svc.cluster.local:8265": 200,
	} {
		status := s.raw(t, host, token.Text())
		if status != want && (host != "" || status != 400) {
			t.Errorf("%q: %d, want %d", host, status, want)
		}
	}
}

// raw sends a request with any host.
func (s *served) raw(t *testing.T, host, token string) int {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", host, token)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func TestBodies_AreBounded(t *testing.T) {
	token := pki.NewToken("x")
	s := serve(t, token)
	right := "Authorization: Bearer " + token.Text()
	if status, _, _ := s.ask(t, "POST", "/", strings.Repeat("x", maxBody), right); status != 200 || s.bodies.Load() != maxBody {
		t.Errorf("%d, %d bytes were read", status, s.bodies.Load())
	}
	if status, _, _ := s.ask(t, "POST", "/", strings.Repeat("x", maxBody+1), right); status != 413 || s.bodies.Load() > maxBody {
		t.Errorf("%d, %d bytes were read", status, s.bodies.Load())
	}
	r, err := http.NewRequest("GET", "http://"+s.address+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("x", 2*maxHeader))
	if answer, err := http.DefaultTransport.RoundTrip(r); err == nil { // else the connection was ended while it was being written
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a long header: %d", answer.StatusCode)
		}
	}
}

// A server without a token makes all other checks.
func TestNoToken_OtherChecksAreMade(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "figures") })
	server := Serve(l, Options{Closed: closed, NoToken: true, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(server.Close)
	s := &served{address: l.Addr().String()}
	if status, body, _ := s.ask(t, "GET", "/", ""); status != 200 || body != "figures" {
		t.Errorf("%d %q", status, body)
	}
	if status, _, _ := s.ask(t, "GET", "/", "", "Origin: http://evil.example"); status != http.StatusForbidden {
		t.Errorf("a page of another site: %d", status)
	}
	if status, _, _ := s.ask(t, "GET", "/", "", "Host: evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d", status)
	}
}
