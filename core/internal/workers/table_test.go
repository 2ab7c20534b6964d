package workers

import (
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/environ"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/tests/await"
)

// heard notes what the table tells of one worker. The table's lock guards failed and
// ends.
type heard struct {
	failed  []string
	ends    []End
	gone    chan struct{} // gets a value for each end
	outside chan struct{} // gets a value for each kill from outside
}

func (h *heard) Failed(why string) { h.failed = append(h.failed, why) }
func (h *heard) Gone(end End) {
	h.ends = append(h.ends, end)
	h.gone <- struct{}{}
}
func (h *heard) KilledFromOutside() { h.outside <- struct{}{} }

// openTable returns a table whose workers are played by the tests, and a job with the
// environment "env".
func openTable(t *testing.T) (*Table, *Job) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/logs", 0o700); err != nil {
		t.Fatal(err)
	}
	tb := Open(Options{SessionDir: dir, Lock: new(sync.Mutex), Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		tb.mu.Lock()
		tb.Stop()
		tb.mu.Unlock()
		if left := tb.Close(testLimit); left > 0 {
			t.Errorf("%d processes do not end", left)
		}
	})
	j := NewJob(ids.JobOf(1), nil)
	j.DefineEnv(wire.EnvSpec{Key: "env", Python: "/bin/false"})
	return tb, j
}

// ordered returns a worker whose fork was ordered from a zygote that has imported its
// modules and does not run.
func ordered(tb *Table, j *Job) (*Worker, *envZygote, *heard) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	h := &heard{gone: make(chan struct{}, 4), outside: make(chan struct{}, 4)}
	w := tb.Add(1, j, "env", h)
	z := &envZygote{job: j, ready: true}
	z.Zygote = NewZygote(j.Env("env"), j.ID, "", tb.o.SessionDir+"/logs", zygoteEvents{tb, z})
	w.zygote, w.forks = z, 1
	tb.zygotes[envKey{j.ID, "env"}] = z
	return w, z, h
}

// silent returns a connection to a process that says nothing.
func silent(t *testing.T) *wire.Peer {
	a, b := net.Pipe()
	p := wire.NewPeer(a, func(*wire.Message) {}, func(error) {})
	p.Start()
	t.Cleanup(func() {
		p.Close()
		b.Close()
	})
	return p
}

// sleeps makes a process that does not end the worker's; mu held. The result waits for
// the end of that process.
func sleeps(t *testing.T, tb *Table, w *Worker) (ended func()) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tb.Connected(w, cmd.Process.Pid, silent(t))
	gone := w.process.Gone
	return func() {
		t.Helper()
		await.Gone(t, gone, "the process of the worker", cmd.Process.Kill)
	}
}

// A token serves one worker, once, and only while the worker starts.
func TestTable_Claim_TokenServesOnce(t *testing.T) {
	tb, j := openTable(t)
	w, _, _ := ordered(tb, j)
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, token := range []string{"", "another"} {
		if _, err := tb.Claim(token); err == nil {
			t.Errorf("the token %q belongs to a worker", token)
		}
	}
	if got, err := tb.Claim(w.token); err != nil || got != w {
		t.Errorf("the worker's token gives %v, %v", got, err)
	}
	if _, err := tb.Claim(w.token); err == nil {
		t.Error("the token serves twice")
	}
	tb.remove(w)
}

// A job takes each environment once, and not more than its bound.
func TestJob_DefineEnv_FirstDefinitionCounts(t *testing.T) {
	j := NewJob(ids.JobOf(1), nil)
	j.DefineEnv(wire.EnvSpec{})
	j.DefineEnv(wire.EnvSpec{Key: "a", Python: "one"})
	j.DefineEnv(wire.EnvSpec{Key: "a", Python: "two"})
	if j.Envs() != 1 || j.Env("a") == nil || j.Env("a").Python != "one" || j.Env("") != nil {
		t.Errorf("%d environments, %+v", j.Envs(), j.Env("a"))
	}
	for i := range maxEnvs + 1 {
		j.DefineEnv(wire.EnvSpec{Key: string(rune('b' + i))})
	}
	if j.Envs() != maxEnvs {
		t.Errorf("%d environments, at most %d are allowed", j.Envs(), maxEnvs)
	}
}

// What a program has of the cluster's secrets in its environment stays out of what its workers get and other nodes are told.
func TestJob_DefineEnv_TokenOfTheProgram_IsNotNoted(t *testing.T) {
	given := map[string]string{"A": "1", environ.Token: "secret"}
	j := NewJob(ids.JobOf(1), nil)
	j.DefineEnv(wire.EnvSpec{Key: "a", JobEnv: given})
	if got, want := j.Env("a").JobEnv, map[string]string{"A": "1"}; !maps.Equal(got, want) {
		t.Errorf("noted is %q, want %q", got, want)
	}
}

// An unknown environment is reported after the order has returned, not within it.
func TestTable_Start_UnknownEnvironment_Fails(t *testing.T) {
	tb, j := openTable(t)
	h := &heard{gone: make(chan struct{}, 1), outside: make(chan struct{}, 1)}
	tb.mu.Lock()
	w := tb.Add(1, j, "nowhere", h)
	tb.Start(w)
	if w.state != Starting || len(h.failed) != 0 {
		t.Error("the owner is told while it gives the order")
	}
	tb.mu.Unlock()
	await.Within(t, testLimit, "the worker fails", func() bool {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		return len(h.failed) == 1
	})
	tb.mu.Lock()
	defer tb.mu.Unlock()
	want := `the worker process for this task's environment could not be started: environment "nowhere" was not defined`
	if h.failed[0] != want || w.state != Gone || len(tb.workers)+len(tb.tokens) != 0 {
		t.Errorf("%q; state %d, %d workers, %d tokens", h.failed[0], w.state, len(tb.workers), len(tb.tokens))
	}
}
