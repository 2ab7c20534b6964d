package jobweb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const helper = "JOBWEB_TEST_SERVER"

// TestMain is a server of jobs when a test has started it as one.
func TestMain(m *testing.M) {
	if mode, ok := os.LookupEnv(helper); ok {
		played(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// played is a server of jobs that answers what it was asked.
func played(mode string) {
	if mode == "dead" {
		return
	}
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/jobs/none/logs/tail":
			http.Error(w, "no such job", http.StatusNotFound)
		case strings.HasSuffix(r.URL.Path, "/logs/tail"):
			for _, line := range []string{`{"text":"one é\n"}`, `{"text":""}`, `{"text":"two\n"}`} {
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			}
			switch r.URL.Path {
			case "/api/jobs/endless/logs/tail":
				<-r.Context().Done()
			case "/api/jobs/broken/logs/tail":
			default:
				fmt.Fprintln(w, `{"end":true}`)
			}
		case r.URL.Path == "/api/jobs/pid":
			fmt.Fprint(w, os.Getpid())
		case r.URL.Path == "/api/jobs/end":
			os.Exit(1)
		default:
			body, err := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s %v %q %q %q", r.Method, r.URL.Path, body, err, r.Header.Get("Authorization"), r.Header.Get("X-Ray-Authorization"), r.Header.Get("Cookie"))
		}
	}))
}

func open(t *testing.T, mode string) (*Server, *httptest.Server) {
	t.Helper()
	dir, err := os.MkdirTemp("", "jw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Mkdir(dir+"/logs", 0o700); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Command: func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helper+"="+mode)
		return cmd
	}})
	front := httptest.NewServer(s)
	t.Cleanup(func() { front.Close(); s.Close() })
	return s, front
}

func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Authorization", "X-Ray-Authorization", "Cookie"} {
		r.Header.Set(name, "secret")
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

func TestServer_Request_IsHandedOverWithoutItsToken(t *testing.T) {
	_, front := open(t, "serve")
	status, text := ask(t, "POST", front.URL+"/api/jobs/x/stop", "the body")
	if want := `POST /api/jobs/x/stop the body <nil> "" "" ""`; status != 200 || text != want {
		t.Errorf("got %d %q, want %q", status, text, want)
	}
	for _, path := range []string{"/", "/api/jobsx", "/api/v0/actors"} {
		if status, _ := ask(t, "GET", front.URL+path, ""); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestServer_ProcessEnds_NextRequestsStartAnother(t *testing.T) {
	_, front := open(t, "serve")
	_, first := ask(t, "GET", front.URL+"/api/jobs/pid", "")
	if status, text := ask(t, "GET", front.URL+"/api/jobs/end", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, LogName) {
		t.Errorf("got %d %q", status, text)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		status, text := ask(t, "GET", front.URL+"/api/jobs/pid", "")
		if status == 200 && text != first {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %d %q", status, text)
		}
	}
}

func TestServer_ProcessCannotRun_IsSaidAndNotTriedWithoutEnd(t *testing.T) {
	s, front := open(t, "dead")
	for range 3 {
		if status, text := ask(t, "GET", front.URL+"/api/version", ""); status != http.StatusServiceUnavailable || !strings.Contains(text, "the server of jobs does not answer") {
			t.Errorf("got %d %q", status, text)
		}
	}
	s.o.Command = func() *exec.Cmd { return exec.Command("/no/such/interpreter") }
	s.last = time.Time{}
	if status, _ := ask(t, "GET", front.URL+"/api/version", ""); status != http.StatusServiceUnavailable {
		t.Errorf("got %d", status)
	}
}

func TestServer_Close_EndsTheProcess(t *testing.T) {
	s, front := open(t, "serve")
	ask(t, "GET", front.URL+"/api/version", "")
	p := s.running
	s.Close()
	select {
	case <-p.done:
	default:
		t.Error("the process lives")
	}
	if status, _ := ask(t, "GET", front.URL+"/api/version", ""); status != http.StatusServiceUnavailable {
		t.Errorf("got %d", status)
	}
}

func TestTail_WebSocket_LinesBecomeMessages(t *testing.T) {
	_, front := open(t, "serve")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for name, want := range map[string]websocket.StatusCode{"a": websocket.StatusNormalClosure, "broken": websocket.StatusInternalError} {
		c, _, err := websocket.Dial(ctx, front.URL+"/api/jobs/"+name+"/logs/tail", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one é\n", "two\n"} {
			kind, got, err := c.Read(ctx)
			if err != nil || kind != websocket.MessageText || string(got) != text {
				t.Errorf("got %v %q, %v", kind, got, err)
			}
		}
		if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != want {
			t.Errorf("%s: closed with %v, want %v", name, err, want)
		}
		c.CloseNow()
	}
	_, answer, err := websocket.Dial(ctx, front.URL+"/api/jobs/none/logs/tail", nil)
	if err == nil || answer == nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("got %v, %v", answer, err)
	}
	if status, text := ask(t, "GET", front.URL+"/api/jobs/a/logs/tail", ""); status != 200 || !strings.HasSuffix(text, "{\"end\":true}\n") {
		t.Errorf("got %d %q", status, text)
	}
}

func TestTail_ServerCloses_ConnectionsEnd(t *testing.T) {
	s, front := open(t, "serve")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, _, err := websocket.Dial(ctx, front.URL+"/api/jobs/endless/logs/tail", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if _, _, err := c.Read(ctx); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for {
		if _, _, err = c.Read(ctx); err != nil {
			break
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the connection lives")
	}
}

func TestMaxBody_PackagesOnly_AreLarge(t *testing.T) {
	for url, want := range map[string]int64{"/api/packages/gcs/x.zip": maxPackage, "/api/jobs/": 0} {
		if got := MaxBody(httptest.NewRequest(http.MethodPut, url, nil)); got != want {
			t.Errorf("%s: got %d, want %d", url, got, want)
		}
	}
	if got := MaxBody(httptest.NewRequest(http.MethodPost, "/api/packages/gcs/x.zip", nil)); got != 0 {
		t.Errorf("got %d", got)
	}
}
