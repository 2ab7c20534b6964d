package jobweb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/internal/environ"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// Bounds of requests.
const (
	maxPackage   = 512 << 20 // as much as Ray's client sends
	maxRequest   = 1 << 20   // of all others; package web has the same bound
	packageTime  = 10 * time.Minute
	answerTime   = 10 * time.Minute // a submitted folder is brought to the heads meanwhile
	restartPause = time.Second
	connectTime  = 60 * time.Second // for a process that has just been started
)

// SocketName, LogName and PackagesName are in the folder of the session.
const (
	SocketName   = "jobs.sock"
	LogName      = "logs/jobs.log"
	PackagesName = "job-packages"
)

// Options of a Server.
type Options struct {
	Dir    string // the session's folder
	Python string // the interpreter that has this package's Python part
	Log    *slog.Logger

	// Command returns how the server of jobs is started; nil: the usual way. For tests.
	Command func() *exec.Cmd
}

// Server hands requests over to the server of jobs.
type Server struct {
	o     Options
	proxy *httputil.ReverseProxy
	ctx   context.Context
	close context.CancelFunc

	mu      sync.Mutex
	running *running
	last    time.Time // when the last one was started
}

// running is a process that was started.
type running struct {
	cmd   *exec.Cmd
	input *os.File // whose end ends it
	done  chan struct{}
}

// New returns a server that has started nothing yet.
func New(o Options) *Server {
	if o.Python == "" {
		o.Python = "python3"
	}
	s := &Server{o: o}
	s.ctx, s.close = context.WithCancel(context.Background())
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: connectTime}).DialContext(ctx, "unix", filepath.Join(o.Dir, SocketName))
	}
	s.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "jobs", r.In.Host
			for _, name := range []string{"Authorization", "X-Ray-Authorization", "Cookie"} { // it has been checked, and is a secret
				r.Out.Header.Del(name)
			}
		},
		Transport:     &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConns: 16, IdleConnTimeout: 10 * time.Second},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				http.Error(w, fmt.Sprintf("the body has more than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
				return
			}
			o.Log.Warn("the server of jobs does not answer", "path", r.URL.Path, "error", err)
			s.absent(w)
		},
	}
	return s
}

// Has reports whether a path is one of jobs.
func Has(path string) bool {
	return path == "/api/version" || path == "/api/jobs" || strings.HasPrefix(path, "/api/jobs/") || strings.HasPrefix(path, "/api/packages/")
}

// MaxBody returns how many bytes the body of a request may have; 0: as many as usual.
func MaxBody(r *http.Request) int64 {
	if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/api/packages/") {
		return maxPackage
	}
	return 0
}

// ServeHTTP implements http.Handler. The caller has checked the token.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !Has(r.URL.Path) {
		http.Error(w, "nothing is here", http.StatusNotFound)
		return
	}
	if most := max(MaxBody(r), maxRequest); r.ContentLength > most { // while it is sent the server of jobs would break the connection off
		_, _ = io.CopyN(io.Discard, r.Body, maxRequest) // a client reads the answer when it has sent most of it
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", most), http.StatusRequestEntityTooLarge)
		return
	}
	if err := s.ensure(); err != nil {
		s.o.Log.Error("the server of jobs cannot be started", "error", err)
		s.absent(w)
		return
	}
	within := http.NewResponseController(w)
	if MaxBody(r) > 0 {
		_ = within.SetReadDeadline(time.Now().Add(packageTime))
	}
	_ = within.SetWriteDeadline(time.Now().Add(answerTime))
	if strings.HasSuffix(r.URL.Path, "/logs/tail") {
		s.tail(w, r)
		return
	}
	s.proxy.ServeHTTP(w, r)
}

func (s *Server) absent(w http.ResponseWriter) {
	http.Error(w, "the server of jobs does not answer: its log is "+filepath.Join(s.o.Dir, LogName)+" on the machine of the head", http.StatusServiceUnavailable)
}

// ensure starts the server of jobs if it does not run.
func (s *Server) ensure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return errors.New("the head ends")
	}
	if s.running != nil {
		select {
		case <-s.running.done:
		default:
			return nil
		}
	}
	if time.Since(s.last) < restartPause {
		return errors.New("it has ended just after its start")
	}
	s.last = time.Now()
	p, err := s.start()
	s.running = p
	return err
}

func (s *Server) start() (*running, error) {
	path := filepath.Join(s.o.Dir, SocketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer l.Close() // the process has it, too
	l.SetUnlinkOnClose(false)
	listener, err := l.File()
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	log, err := os.OpenFile(filepath.Join(s.o.Dir, LogName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := s.command()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, log, log
	cmd.ExtraFiles = []*os.File{listener}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, err
	}
	workers.Unspare(cmd.Process.Pid)
	p := &running{cmd: cmd, input: w, done: make(chan struct{})}
	s.o.Log.Info("the server of jobs was started", "pid", cmd.Process.Pid)
	go func() {
		err := cmd.Wait()
		w.Close()
		s.o.Log.Info("the server of jobs has ended", "pid", cmd.Process.Pid, "how", err)
		close(p.done)
	}()
	return p, nil
}

// command returns how the server of jobs is started. It finds its listener at descriptor 3.
func (s *Server) command() *exec.Cmd {
	if s.o.Command != nil {
		return s.o.Command()
	}
	cmd := exec.Command(s.o.Python, "-m", "eagleray._private.jobs.server", s.o.Dir)
	cmd.Env = environ.Public()
	if home, err := os.UserHomeDir(); err == nil {
		cmd.Dir = home // where the entrypoints of jobs without a folder run
	}
	if _, err := os.Stat(cmd.Dir); err != nil {
		cmd.Dir = "/"
	}
	return cmd
}

// stopTime is how long the server of jobs may take to end.
const stopTime = 2 * time.Second

// Close ends the server of jobs. The jobs go on.
func (s *Server) Close() {
	s.close()
	p := s.forget()
	if p == nil {
		return
	}
	p.input.Close()
	select {
	case <-p.done:
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// forget returns the process that runs, which nobody uses any more; nil if there is none.
func (s *Server) forget() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.running
	s.running = nil
	return p
}
