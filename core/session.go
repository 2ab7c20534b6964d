package core

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/userdir"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Options say what to connect to and what Python the workers run.
type Options struct {
	Address    string                           // see Connect
	Namespace  string                           // of named actors; "": one of its own
	Python     string                           // interpreter of the workers; "": EAGLERAY_PYTHON, else that of the activated virtual environment, else that of each node's daemon. It must have eagleray installed
	PythonPath []string                         // where the workers look for modules, before the interpreter's own folders
	Env        map[string]string                // variables of the workers, beside this process's
	GoWorker   string                           // the Go program whose functions and actors GoFunction and NewGoActor mean, see package core/worker
	OnOutput   func(pid int, name, line string) // a line that a worker printed; nil: dropped
}

// Session is this program's membership in a cluster. All of its methods, and all functions of this
// package, may be called from any goroutine.
type Session struct {
	c      *client.Client
	env    wire.EnvSpec
	done   chan struct{} // closed when the output's reader has ended
	closed sync.Once

	program    string       // of Go workers, when a Call names none
	ofWorker   bool         // it is a worker's, and ends with the process
	inGroup    atomic.Value // a string: the strategy of the call that this worker runs
	programKey string       // of the environment of this process, which is a worker of that program; "": it is none

	mu      sync.Mutex
	methods map[methodKey]int
	envs    map[string]bool // keys that the daemon was told of

	kv KV
}

// base returns the folder of this user's sessions. One that another user has made is not believed.
func base() (string, error) {
	dir := userdir.Base()
	if err := userdir.Check(dir); err != nil {
		return "", fault.New(fault.NoCluster, "connect: %v", err)
	}
	return dir, nil
}

// current returns the session that `eagleray start` left running below a base; "" if there is none.
func current(base string) string {
	b, err := os.ReadFile(filepath.Join(base, "current"))
	dir := strings.TrimSpace(string(b))
	if err != nil || filepath.Dir(dir) != base {
		return ""
	}
	return dir
}

// find returns the socket of the daemon at an address.
func find(ctx context.Context, address string) (string, error) {
	if address == "" {
		address = os.Getenv("EAGLERAY_ADDRESS")
	}
	if address == "" {
		address = os.Getenv("RAY_ADDRESS")
	}
	if address == "" || address == "auto" {
		dir, err := base()
		if err != nil {
			return "", err
		}
		if address = current(dir); address == "" {
			return "", ErrNoCluster
		}
	}
	if heads.Is(address) {
		dir, err := nodeOf(ctx, address)
		if err != nil {
			return "", err
		}
		address = dir
	} else if err := notFolder(address); err != nil {
		return "", err
	}
	if !strings.HasSuffix(address, ".sock") {
		address = filepath.Join(address, "d.sock")
	}
	if _, err := os.Stat(address); err != nil {
		return "", fmt.Errorf("%w (looked at %s)", ErrNoCluster, address)
	}
	return address, nil
}

// notFolder returns an error that says what to give in place of an address that cannot be the folder of a session.
func notFolder(address string) error {
	switch {
	case strings.HasPrefix(address, "ray://"):
		return fault.New(fault.NoCluster, "connect to %q: there is no Ray Client here. Run the program on a machine of the cluster with the address \"auto\"; `eagleray start --address=HOST:PORT` adds this machine", address)
	case !filepath.IsAbs(address):
		return fault.New(fault.NoCluster, "connect to %q: it is no address: use \"auto\", HOST:PORT of a head (several with commas between them), or the path of the session that `eagleray start` printed. A Go program has no cluster of its own: `eagleray start --head` begins one", address)
	}
	return nil
}

// nodeOf returns the session of this machine's node of the cluster that has one of the heads.
func nodeOf(ctx context.Context, address string) (string, error) {
	list, err := heads.Parse(address)
	if err != nil {
		return "", fault.New(fault.BadRequest, "connect: %v", err)
	}
	base, err := base()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(base, "s-*", "d.sock"))
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", address, err)
	}
	var dirs []string
	for _, sock := range found { // a daemon that was killed leaves its socket
		if c, err := net.DialTimeout("unix", sock, answerLimit); err == nil {
			c.Close()
			dirs = append(dirs, filepath.Dir(sock))
		}
	}
	// Of several nodes here, that of "auto" comes first.
	if dir := heads.Among(ctx, list, heads.First(dirs, current(base))); dir != "" {
		return dir, nil
	}
	return "", fault.New(fault.NoCluster, "no node of the cluster at %s runs on this machine below %s. Programs work on a node of their own machine: add this machine with `eagleray start --address=%s` first, or set EAGLERAY_TMPDIR to the folder that `eagleray start` was given with --temp-dir",
		address, base, address)
}

// answerLimit is how long a daemon of this machine may take to accept a connection.
const answerLimit = time.Second

// Connect joins a running cluster as a job of its own. The context bounds the attempt, not the session.
//
// Options.Address is "auto", which means the cluster that `eagleray start` left running on this machine; or HOST:PORT of a head, or several with commas
// between them, which mean this machine's node of the cluster with that head; or the folder of a session, or the d.sock in it. If it is empty,
// EAGLERAY_ADDRESS counts, then RAY_ADDRESS, then "auto".
func Connect(ctx context.Context, o Options) (*Session, error) {
	if err := begin(ctx, "connect"); err != nil {
		return nil, err
	}
	sock, err := find(ctx, o.Address)
	if err != nil {
		return nil, err
	}
	env, err := o.env()
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(client.Options{Socket: sock, Role: wire.RoleService, Context: ctx, Job: wire.JobStart{
		Namespace: o.Namespace, Entrypoint: strings.Join(os.Args, " "), Env: env, LogToDriver: o.OnOutput != nil}})
	if err != nil {
		return nil, connectError(ctx, sock, err)
	}
	s := newSession(c, env)
	s.program, s.envs[env.Key] = o.GoWorker, true
	go s.print(o.OnOutput)
	return s, nil
}

func newSession(c *client.Client, env wire.EnvSpec) *Session {
	s := &Session{c: c, env: env, done: make(chan struct{}), methods: map[methodKey]int{}, envs: map[string]bool{}}
	s.kv.s = s
	return s
}

// connectError returns what a failed attempt means.
func connectError(ctx context.Context, sock string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("connect to %s: %w", sock, ctx.Err())
	case fault.CodeOf(err) == fault.Internal, fault.CodeOf(err) == fault.DaemonDied: // not an answer, but that none came
		return fmt.Errorf("%w (the daemon at %s does not answer: %w)", ErrNoCluster, sock, err)
	}
	return err
}

// print hands on what workers print, until the session ends.
func (s *Session) print(f func(pid int, name, line string)) {
	defer close(s.done)
	for {
		n := s.c.NextNote(time.Hour)
		switch {
		case n == nil:
		case n.Closed != "":
			return
		case n.Log != nil && f != nil:
			f(n.Log.Pid, n.Log.Name, n.Log.Text)
		}
	}
}

// closeWithin bounds Close.
const closeWithin = time.Second

// Close leaves the cluster. Non-detached actors of this job end, and its workers; so do the session's leases of keys. It waits at most a
// second for the last output of the workers. Calls that wait return ErrClosed, as later ones do; arrays
// stay readable. A second Close does nothing, and neither does the Close of a worker's session (package core/worker).
func (s *Session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = s.Shutdown(ctx) // what was not printed in time is not worth an error
	return nil
}

// Shutdown is Close that waits for the workers' output until the context ends. The session is closed also
// when it returns the context's error.
func (s *Session) Shutdown(ctx context.Context) error {
	if s.ofWorker {
		return nil
	}
	s.closed.Do(func() {
		s.kv.endLeases(ctx)
		s.c.CloseContext(ctx)
	})
	select {
	case <-s.done:
		return nil
	default:
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return fmt.Errorf("close the session: %w", ctx.Err())
	}
	return nil
}

// Err returns why the session has ended, nil while it lasts.
func (s *Session) Err() error { return s.c.Err() }

// Namespace returns the namespace of the session's named actors.
func (s *Session) Namespace() string { return s.c.Info().Namespace }
