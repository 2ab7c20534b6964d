package jobguard

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const helper = "JOBGUARD_TEST_OPTIONS"

// TestMain is a guard when a test has started it as one: a guard collects all children of its process.
func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(helper); ok {
		var o Options
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			panic(err)
		}
		os.Unsetenv(helper)
		o.Input = os.Stdin
		r, err := Run(o)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(r)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// guard is a guard that runs.
type guard struct {
	t     *testing.T
	cmd   *exec.Cmd
	input *os.File
	out   strings.Builder
	log   string
}

func begin(t *testing.T, o Options) *guard {
	t.Helper()
	if o.Log == "" {
		o.Log = filepath.Join(t.TempDir(), "log")
	}
	if o.Stop == 0 {
		o.Stop = unix.SIGTERM
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{t: t, input: w, log: o.Log, cmd: exec.Command(os.Args[0])}
	g.cmd.Env = append(os.Environ(), helper+"="+string(text))
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = r, &g.out, os.Stderr
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close(); _ = g.cmd.Process.Kill(); _ = g.cmd.Wait() })
	return g
}

// result waits for the end.
func (g *guard) result() (r Result) {
	g.t.Helper()
	if err := g.cmd.Wait(); err != nil {
		g.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(g.out.String()), &r); err != nil {
		g.t.Fatalf("the guard wrote %q: %v", g.out.String(), err)
	}
	return r
}

func (g *guard) logged() string {
	g.t.Helper()
	b, err := os.ReadFile(g.log)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// until waits for a line of the log that begins with a word, and returns the number behind it.
func (g *guard) until(word string) int {
	g.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(g.log)
		for _, line := range strings.SplitAfter(string(b), "\n") {
			if rest, ok := strings.CutPrefix(line, word+" "); ok && strings.HasSuffix(rest, "\n") {
				n, err := strconv.Atoi(strings.TrimSpace(rest))
				if err != nil {
					g.t.Fatal(err)
				}
				return n
			}
		}
	}
	g.t.Fatalf("the log has no line %q: %q", word, g.logged())
	return 0
}

func gone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }

func TestRun_CommandEnds_CodeAndOutputAreKept(t *testing.T) {
	g := begin(t, Options{Command: "echo out; echo err >&2; cat; exit 7", Grace: time.Second})
	if r := g.result(); r != (Result{Code: 7}) {
		t.Errorf("got %+v", r)
	}
	if got := g.logged(); got != "out\nerr\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestRun_CommandIsKilled_SignalIsKept(t *testing.T) {
	g := begin(t, Options{Command: "kill -9 $$", Grace: time.Second})
	if r := g.result(); r != (Result{Signal: 9}) {
		t.Errorf("got %+v", r)
	}
}

func TestRun_CommandLeavesProcesses_AreEnded(t *testing.T) {
	g := begin(t, Options{Command: "setsid sleep 600 & echo pid $!; (trap '' TERM; echo deaf; sleep 600 & wait) & exit 0", Grace: 50 * time.Millisecond})
	pid := g.until("pid")
	if r := g.result(); r != (Result{}) {
		t.Errorf("got %+v", r)
	}
	if !gone(pid) {
		t.Errorf("process %d lives", pid)
	}
}

func TestRun_InputEnds_JobEnds(t *testing.T) {
	g := begin(t, Options{Command: "trap 'echo told; exit 3' TERM; setsid sh -c 'echo pid $$; exec sleep 600' & wait", Grace: 20 * time.Second})
	pid := g.until("pid")
	g.input.Close()
	if r := g.result(); r != (Result{Code: 3, Stopped: true}) {
		t.Errorf("got %+v", r)
	}
	if !gone(pid) {
		t.Errorf("process %d lives", pid)
	}
	if got := g.logged(); !strings.Contains(got, "told\n") {
		t.Errorf("the log is %q", got)
	}
}

func TestRun_JobIgnoresTheSignal_IsKilledAfterTheGrace(t *testing.T) {
	g := begin(t, Options{Command: "trap '' TERM; echo pid $$; while :; do sleep 600; done", Grace: 100 * time.Millisecond})
	pid := g.until("pid")
	if _, err := g.input.WriteString("stop\n"); err != nil {
		t.Fatal(err)
	}
	if r := g.result(); r != (Result{Signal: 9, Stopped: true}) {
		t.Errorf("got %+v", r)
	}
	if !gone(pid) {
		t.Errorf("process %d lives", pid)
	}
}

func TestRun_DiskIsFull_JobGoesOn(t *testing.T) {
	g := begin(t, Options{Command: "for i in 1 2 3; do echo line $i; done; exit 5", Log: "/dev/full", Grace: time.Second})
	if r := g.result(); r.Code != 5 || r.Lost != int64(len("line 1\nline 2\nline 3\n")) {
		t.Errorf("got %+v", r)
	}
}

func TestOutput_RoomAgain_SaysWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	o, err := openOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := o.file
	o.file = full
	_, _ = o.Write([]byte("lost"))
	o.file = file
	_, _ = o.Write([]byte("kept\n"))
	full.Close()
	if lost := o.close(); lost != 4 {
		t.Errorf("lost %d", lost)
	}
	b, err := os.ReadFile(path)
	if want := "\n[4 bytes of output are missing here: write /dev/full: no space left on device]\nkept\n"; err != nil || string(b) != want {
		t.Errorf("got %q, %v, want %q", b, err, want)
	}
}

func TestParseSignal(t *testing.T) {
	for name, want := range map[string]unix.Signal{"SIGTERM": unix.SIGTERM, "INT": unix.SIGINT, "SIGSTOP": 0, "": 0, "9": 0} {
		got, err := ParseSignal(name)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %v, %v", name, got, err)
		}
	}
}
