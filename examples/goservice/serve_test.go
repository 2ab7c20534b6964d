package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
	"github.com/eagleray/eagleray/tests/await"
)

const patience = 60 * time.Second

// heads are three heads on this machine, with a node beside each, which has two GPUs that are declared only.
type heads struct {
	t      *testing.T
	binary string
	bases  []string // the folder of each one's sessions
}

func startHeads(t *testing.T) *heads {
	python := os.Getenv("EAGLERAY_PYTHON")
	if python == "" {
		python = filepath.Join("..", "..", ".venv", "bin", "python")
	}
	python, err := filepath.Abs(python)
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(python, "-c", "import eagleray._core").Run(); err != nil {
		t.Fatalf("%s has no eagleray: run `make dev`, or set EAGLERAY_PYTHON: %v", python, err)
	}
	for name, value := range map[string]string{"EAGLERAY_PYTHON": python, "RAY_ADDRESS": "", "EAGLERAY_ADDRESS": ""} {
		t.Setenv(name, value)
	}
	h := &heads{t: t, binary: filepath.Join(t.TempDir(), "eagleray")}
	if out, err := exec.Command("go", "build", "-o", h.binary, "../../cmd/eagleray").CombinedOutput(); err != nil {
		t.Fatalf("build the daemon: %v\n%s", err, out)
	}
	flags := []string{"start", "--head", "--port=0", "--num-cpus=1", "--num-gpus=2", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000"}
	var others []string
	for range 3 {
		base, err := os.MkdirTemp("", "er") // short: the sockets' paths have a limit
		if err != nil {
			t.Fatal(err)
		}
		h.bases = append(h.bases, base)
		t.Cleanup(func() {
			h.run(base, "stop", "--grace-period=20")
			os.RemoveAll(base)
		})
		said := h.run(base, append(flags, others...)...)
		if others == nil {
			found := regexp.MustCompile(`--address='(\S+)' --token-file=(\S+)`).FindStringSubmatch(said)
			if found == nil {
				t.Fatal(said)
			}
			others = []string{"--address=" + found[1], "--token-file=" + found[2]}
		}
	}
	h.healthy()
	return h
}

func (h *heads) run(base string, words ...string) string {
	h.t.Helper()
	cmd := exec.Command(h.binary, words...)
	cmd.Env = append(os.Environ(), "EAGLERAY_TMPDIR="+base)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Errorf("%s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// row is a line of `eagleray heads list`.
type row struct {
	Number    uint32
	Role      string
	Healthy   bool
	Addresses []string
}

func (h *heads) list() (rows []row) {
	cmd := exec.Command(h.binary, "heads", "list", "--json")
	cmd.Env = append(os.Environ(), "EAGLERAY_TMPDIR="+h.bases[0])
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &rows) != nil {
		return nil // no head leads at present
	}
	return rows
}

func (h *heads) healthy() {
	h.t.Helper()
	await.Within(h.t, patience, "three heads have a vote and are healthy", func() bool {
		n := 0
		for _, r := range h.list() {
			if r.Healthy && r.Role != "standby" {
				n++
			}
		}
		return n == 3
	})
}

// killLeader kills the process of the head that leads, which its warden starts again.
func (h *heads) killLeader() {
	h.t.Helper()
	for _, r := range h.list() {
		if r.Role != "leader" {
			continue
		}
		for _, base := range h.bases {
			sessions, _ := filepath.Glob(filepath.Join(base, "*", "s-*"))
			for _, dir := range sessions {
				text, err := os.ReadFile(filepath.Join(dir, "state", "head.json"))
				if err != nil || !strings.Contains(string(text), fmt.Sprintf("/%d\"", r.Number)) {
					continue
				}
				pid, err := os.ReadFile(filepath.Join(dir, "head.pid"))
				if err != nil {
					h.t.Fatal(err)
				}
				n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
				if err != nil {
					h.t.Fatal(err)
				}
				if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
					h.t.Fatal(err)
				}
				return
			}
		}
	}
	h.t.Fatal("no head leads")
}

// The service finds its node by the address of any head, and answers all requests while heads that lead are killed.
func TestService_LeadersAreKilled_NoRequestFails(t *testing.T) {
	h := startHeads(t)
	t.Setenv("EAGLERAY_TMPDIR", h.bases[2])
	for _, r := range h.list() {
		await.Within(t, patience, "the node knows the head at "+r.Addresses[0], func() bool {
			s, err := core.Connect(t.Context(), core.Options{Address: r.Addresses[0]})
			if err != nil {
				return false
			}
			defer s.Close()
			nodes, err := s.Nodes(t.Context())
			return err == nil && len(nodes) == 3
		})
	}
	v, err := newService(t.Context(), h.list()[1].Addresses[0], ".", 2)
	if err != nil {
		t.Fatal(err)
	}
	defer v.s.Close()
	server := httptest.NewServer(v.handler())
	defer server.Close()

	var did [2]atomic.Int64
	var longest atomic.Int64
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i, page := range []string{"score", "score", "score", "once"} {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				begun := time.Now()
				if err := ask(server.URL, page, float64(n)); err != nil {
					t.Errorf("request %d of client %d: %v", n, i, err)
					return
				}
				did[min(i/3, 1)].Add(1)
				for d := int64(time.Since(begun)); ; {
					if now := longest.Load(); d <= now || longest.CompareAndSwap(now, d) {
						break
					}
				}
			}
		})
	}
	for range 4 {
		scored, once := did[0].Load(), did[1].Load()
		h.killLeader()
		h.healthy()
		await.Within(t, patience, "requests are answered", func() bool {
			return t.Failed() || did[0].Load() > scored+50 && did[1].Load() > once+2
		})
	}
	close(stop)
	all.Wait()
	t.Logf("%d calls of actors, %d new actors, 4 leaders killed; the longest request took %v", did[0].Load(), did[1].Load(), time.Duration(longest.Load()))
}

func ask(url, page string, x float64) error {
	r, err := http.Get(fmt.Sprintf("%s/%s?x=%v", url, page, x))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	var a answer
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, b)
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	if err == nil && (a.Score != x*x || len(a.GPUs) != 1) {
		err = fmt.Errorf("got %+v, want the score %v and one GPU", a, x*x)
	}
	return err
}

func TestService_NoNumber_IsRefused(t *testing.T) {
	w := httptest.NewRecorder()
	(&service{}).handler().ServeHTTP(w, httptest.NewRequest("GET", "/score?x=three", nil))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "x must be a number") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
