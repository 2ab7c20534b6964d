package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/client"
	"github.com/eagleray/eagleray/core/wire"
)

// ErrNoCluster is returned by Connect when there is nothing to connect to.
var ErrNoCluster = errors.New("no local cluster is running: start one with `eagleray start --head`, or set RAY_ADDRESS")

// Options say what to connect to and what Python the workers run.
type Options struct {
	Address    string                           // session directory or its d.sock; "": RAY_ADDRESS, else the cluster that `eagleray start` left running
	Namespace  string                           // of named actors; "": one of its own
	Python     string                           // interpreter of the workers; "": EAGLERAY_PYTHON, else python3 on PATH. It must have eagleray installed
	PythonPath []string                         // where the workers look for modules, before the interpreter's own folders
	Env        map[string]string                // variables of the workers, beside this process's
	OnOutput   func(pid int, name, line string) // a line that a worker printed; nil: dropped
}

// Session is this program's membership in a cluster.
type Session struct {
	c      *client.Client
	envKey string
	stop   chan struct{}
	done   chan struct{}

	mu      sync.Mutex
	methods map[methodKey]int
}

// base returns the folder of this user's sessions.
func base() string {
	tmp := os.Getenv("EAGLERAY_TMPDIR")
	if tmp == "" {
		tmp = os.Getenv("RAY_TMPDIR")
	}
	if tmp == "" {
		tmp = "/tmp" // as the daemon and the Python package do, whatever TMPDIR says
	}
	return filepath.Join(tmp, fmt.Sprintf("eagleray-%d", os.Getuid()))
}

func find(address string) (string, error) {
	if address == "" {
		address = os.Getenv("RAY_ADDRESS")
	}
	if address == "" || address == "auto" {
		b, err := os.ReadFile(filepath.Join(base(), "current"))
		if err != nil {
			return "", ErrNoCluster
		}
		address = strings.TrimSpace(string(b))
	}
	if !strings.HasSuffix(address, ".sock") {
		address = filepath.Join(address, "d.sock")
	}
	if _, err := os.Stat(address); err != nil {
		return "", fmt.Errorf("%w (looked at %s)", ErrNoCluster, address)
	}
	return address, nil
}

// Connect joins a running local cluster as a job of its own.
func Connect(ctx context.Context, o Options) (*Session, error) {
	sock, err := find(o.Address)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	env, err := o.env()
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(client.Options{Socket: sock, Role: wire.RoleService, Job: wire.JobStart{
		Namespace: o.Namespace, Entrypoint: strings.Join(os.Args, " "), Env: env, LogToDriver: o.OnOutput != nil}})
	if err != nil {
		return nil, err
	}
	s := &Session{c: c, envKey: env.Key, stop: make(chan struct{}), done: make(chan struct{}), methods: map[methodKey]int{}}
	go s.print(o.OnOutput)
	return s, nil
}

func (o *Options) env() (e wire.EnvSpec, err error) {
	e.Python = o.Python
	if e.Python == "" {
		e.Python = os.Getenv("EAGLERAY_PYTHON")
	}
	if e.Python == "" {
		if e.Python, err = exec.LookPath("python3"); err != nil {
			return e, fmt.Errorf("find the workers' Python: %w; set Options.Python or EAGLERAY_PYTHON", err)
		}
	}
	if strings.ContainsRune(e.Python, filepath.Separator) {
		if e.Python, err = filepath.Abs(e.Python); err != nil {
			return e, err
		}
	}
	if e.Cwd, err = os.Getwd(); err != nil {
		return e, err
	}
	e.Env = o.Env
	e.JobEnv = map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			e.JobEnv[k] = v
		}
	}
	if path := slices.Clone(o.PythonPath); len(path) > 0 {
		if p := e.JobEnv["PYTHONPATH"]; p != "" {
			path = append(path, p)
		}
		e.JobEnv["PYTHONPATH"] = strings.Join(path, string(os.PathListSeparator))
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %v", e.Python, e.Cwd, o.PythonPath, e.Env)
	e.Key = hex.EncodeToString(h.Sum(nil)[:12])
	return e, nil
}

func (s *Session) print(f func(int, string, string)) {
	defer close(s.done)
	for {
		select {
		case <-s.stop:
			return
		default:
		}
		n := s.c.NextNote(100 * time.Millisecond)
		switch {
		case n == nil:
		case n.Closed != "":
			return
		case n.Log != nil && f != nil:
			f(n.Log.Pid, n.Log.Name, n.Log.Text)
		}
	}
}

// Close leaves the cluster. Non-detached actors of this job end, and its workers.
func (s *Session) Close() {
	close(s.stop)
	<-s.done
	s.c.Close(time.Second)
}

// Resources returns the cluster's declared resources.
func (s *Session) Resources() map[string]float64 {
	out := map[string]float64{}
	for n, a := range s.c.Info().Totals.Resources {
		out[n] = float64(a) / unit
	}
	return out
}

// unit is how many wire units a resource of 1 has.
const unit = 10000
