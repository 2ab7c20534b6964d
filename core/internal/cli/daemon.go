package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// badConfig is what the user asked for and cannot have.
type badConfig struct{ error }

func (b *badConfig) Unwrap() error { return b.error }

// runDaemon is the node and head process: flags, wiring, serving, shutdown.
func runDaemon(args []string, release string) error {
	f := flag.NewFlagSet("daemon", flag.ContinueOnError)
	embedded := f.Bool("embedded", false, "end with the parent")
	parentFD := f.Int("parent-fd", -1, "descriptor of the parent's socket")
	dir := f.String("session-dir", "", "the session's directory")
	ownLog := f.Bool("own-log", false, "write to the session's "+sessiondir.LogName)
	text := f.String("config", "{}", "JSON; "+fromStdin+": it is read from the standard input")
	if err := f.Parse(args); err != nil {
		return usage("daemon: wrong flags")
	}
	parent := openParent(*parentFD)
	isolate()
	// Whoever starts it makes no folder: it could be killed before there is anyone who removes it.
	made := os.Mkdir(*dir, 0o700) == nil
	var err error
	if *ownLog {
		err = sessiondir.LogTo(*dir, sessiondir.LogName)
	}
	if err == nil {
		*text, err = configText(*text, os.Stdin)
	}
	if err == nil {
		err = serve(*embedded, parent, *dir, *text, release)
	}
	if err != nil && made && *embedded {
		os.RemoveAll(*dir)
	}
	parent.sayWhy(err)
	return err
}

// A configuration of many resources is larger than an argument of a program may be:
// then it comes by the standard input.
const (
	fromStdin   = "-"
	longConfig  = 64 << 10 // bytes from which on it does
	largeConfig = 32 << 20 // the most that are read
)

// configText returns the text of a configuration that an argument names.
func configText(argument string, in io.Reader) (string, error) {
	if argument != fromStdin {
		return argument, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, largeConfig+1))
	if err != nil {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	if len(b) > largeConfig {
		return "", &badConfig{fmt.Errorf("the configuration has more than %d bytes", largeConfig)}
	}
	return string(b), nil
}

func serve(embedded bool, parent *parentPipe, dir, text, release string) error {
	var c config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return &badConfig{fmt.Errorf("config: %w", err)}
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o, err := c.options(dir, log)
	if err == nil {
		err = o.Check()
	}
	if err != nil {
		return &badConfig{err}
	}
	o.Succeed = func(u *net.UnixConn, token string) error {
		return client.Succeed(u, filepath.Join(dir, "d.sock"), token)
	}
	if c.Member != nil {
		return serveMember(parent, &c, o, release)
	}

	// The replicated state comes up beside the rest: a leader takes milliseconds.
	type state struct {
		node *raftstate.Node
		err  error
	}
	opened := make(chan state, 1)
	go func() {
		n, err := raftstate.Open(raftstate.Options{ID: o.Node.String()})
		opened <- state{n, err}
	}()
	d, lock, err := openDaemon(o)
	if err != nil {
		return err
	}
	d.Serve()
	parent.ready(d)

	s := <-opened
	if s.err != nil {
		d.Close(false)
		return fmt.Errorf("cluster state: %w", s.err)
	}
	h, err := wireHead(d, s.node, o, log)
	if err == nil {
		log.Info("serving", "session", dir, "node", o.Node, "name", o.Name, "totals", o.Totals.String(), "arena", o.ArenaBytes)
		go sessiondir.SweepStale(filepath.Dir(dir))
		waitForEnd(d, embedded, parent, c.ParentPid, log)
	}

	// Shutdown, in order: nobody places actors any more; every process that was
	// started is killed and the session removed; then the state.
	if h != nil {
		h.Close()
	}
	d.Close(!embedded)
	lock.Close()
	if !embedded {
		leaveDaemon(dir)
	}
	if e := s.node.Close(); e != nil && err == nil {
		log.Warn("closing the cluster state", "error", e)
	}
	return err
}

// openDaemon opens the node role and marks the session as one that lives, until the lock is closed.
func openDaemon(o daemon.Options) (*daemon.Daemon, *os.File, error) {
	d, err := daemon.Open(o)
	var unusable *objects.SpillError
	if errors.As(err, &unusable) {
		return nil, nil, &badConfig{err}
	}
	if err != nil {
		return nil, nil, err
	}
	lock, err := sessiondir.Lock(o.SessionDir)
	if err == nil {
		err = writePid(o.SessionDir, daemonPidName)
	}
	return d, lock, err
}

// nodeRecord is what the cluster is told of a node.
func nodeRecord(d *daemon.Daemon, o *daemon.Options) record.Node {
	return record.Node{
		ID: o.Node, Name: o.Name, Address: o.Address, Hostname: o.Hostname, SessionDir: o.SessionDir, Pid: os.Getpid(),
		Resources: record.Resources(d.Totals()), Labels: o.Labels, IsHead: o.IsHead, StartedMs: time.Now().UnixMilli(),
	}
}

// leaderLimit is far beyond what an embedded voter needs to lead itself.
const leaderLimit = 30 * time.Second

// wireHead starts the head role over the state and registers this node.
func wireHead(d *daemon.Daemon, n *raftstate.Node, o daemon.Options, log *slog.Logger) (*head.Head, error) {
	ctx, cancel := context.WithTimeout(context.Background(), leaderLimit)
	defer cancel()
	if err := n.WaitLeader(ctx); err != nil {
		return nil, fmt.Errorf("cluster state: %w", err)
	}
	h, err := head.Open(head.Options{State: n, Placer: placer{d}, Log: log})
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	if err := h.RegisterNode(ctx, nodeRecord(d, &o)); err != nil {
		return h, fmt.Errorf("register node: %w", err)
	}
	d.SetHead(h)
	return h, nil
}

// isolate makes this process fit to outlive signals of a terminal and to
// inherit orphans.
func isolate() {
	debug.SetGCPercent(50)
	signal.Ignore(unix.SIGINT, unix.SIGHUP, unix.SIGPIPE, unix.SIGTTOU)
	_, _ = unix.Setsid() // fails when the starter did it
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	unix.Umask(0o077)
	workers.Spare()
}

// waitForEnd returns when the daemon is to end.
func waitForEnd(d *daemon.Daemon, embedded bool, parent *parentPipe, parentPid int, log *slog.Logger) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	var gone <-chan struct{}
	if embedded {
		gone = parent.gone(parentPid)
	}
	select {
	case <-d.Stopping():
	case <-term:
		log.Info("SIGTERM: ending")
	case <-gone:
		log.Info("the driver is gone: ending")
	}
}
