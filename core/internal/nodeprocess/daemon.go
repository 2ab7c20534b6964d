package nodeprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/client"
	"github.com/eagleray/eagleray/core/internal/complaints"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/metrics"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// Options are what the command line of a daemon says.
type Options struct {
	Embedded   bool   // end with the parent
	ParentFD   int    // the descriptor of the parent's socket; -1: there is none
	SessionDir string // the session's directory
	OwnLog     bool   // write to the session's log
	Config     string // JSON, or process.FromStdin
	Release    string // of the program
}

// Run is the process of a daemon: its log, its configuration, serving, and what it leaves when it cannot start.
func Run(o Options) error {
	parent := process.OpenParent(o.ParentFD)
	process.Isolate()
	// Whoever starts it makes no folder: it could be killed before there is anyone who removes it.
	made := os.Mkdir(o.SessionDir, 0o700) == nil
	var err error
	if o.OwnLog {
		err = sessiondir.LogTo(o.SessionDir, sessiondir.LogName)
	}
	text := ""
	if err == nil {
		text, err = process.ConfigText(o.Config, os.Stdin)
	}
	if err == nil {
		err = serve(o.Embedded, parent, o.SessionDir, text, o.Release)
	}
	if err != nil && made && o.Embedded {
		os.RemoveAll(o.SessionDir)
	}
	parent.SayWhy(err)
	return err
}

func serve(embedded bool, parent *process.Parent, dir, text, release string) error {
	var c Config
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return process.NewBadConfig(fmt.Errorf("config: %w", err))
	}
	log := slog.New(complaints.Bound(slog.NewTextHandler(os.Stderr, nil)))
	c, err := c.overridden(os.LookupEnv)
	if err != nil {
		return process.NewBadConfig(err)
	}
	o, err := c.options(dir, log)
	if err == nil {
		err = o.Check()
	}
	if err != nil {
		return process.NewBadConfig(err)
	}
	o.Succeed = func(u *net.UnixConn, token string) error {
		return client.Succeed(u, filepath.Join(dir, "d.sock"), token)
	}
	if c.Member != nil {
		process.HoldSecrets(log)
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
	local := &groups.Local{Node: o.Node, Labels: o.Labels}
	o.Bundles = local
	if c.MetricsPort != nil {
		o.Metrics = metrics.New()
	}
	d, lock, err := openDaemon(o)
	if err != nil {
		return err
	}
	shown, err := serveOwnMetrics(&c, d, &o, release)
	if err != nil {
		d.Close(false)
		lock.Close()
		return err
	}
	defer shown.Close()
	local.Event = d.Event
	served, err := c.Dashboard.serve(dir, o.Interpreter, log)
	if err != nil {
		d.Close(!embedded)
		return err
	}
	d.Serve()
	parent.Ready(d.SendStore)

	s := <-opened
	if s.err != nil {
		d.Close(false)
		return fmt.Errorf("cluster state: %w", s.err)
	}
	h, err := wireHead(d, local, s.node, o, log)
	if err == nil {
		log.Info("serving", "session", dir, "node", o.Node, "name", o.Name, "totals", o.Totals.String(), "arena", o.ArenaBytes)
		go sessiondir.SweepStale(filepath.Dir(dir))
		waitForEnd(d, embedded, parent, c.ParentPid, log)
	}

	// Shutdown, in order: nobody places actors any more; every process that was
	// started is killed and the session removed; then the state.
	served.Close()
	if h != nil {
		h.Close()
	}
	d.Close(!embedded)
	lock.Close()
	if !embedded {
		process.LeaveDaemon(dir)
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
		return nil, nil, process.NewBadConfig(err)
	}
	if err != nil {
		return nil, nil, err
	}
	lock, err := sessiondir.Lock(o.SessionDir)
	if err == nil {
		err = process.WritePid(o.SessionDir, process.DaemonPid)
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

// wireHead starts the head role over the state and registers this node.
func wireHead(d *daemon.Daemon, local *groups.Local, n *raftstate.Node, o daemon.Options, log *slog.Logger) (*head.Head, error) {
	ctx, cancel := context.WithTimeout(context.Background(), process.LeaderLimit)
	defer cancel()
	if err := n.WaitLeader(ctx); err != nil {
		return nil, fmt.Errorf("cluster state: %w", err)
	}
	h, err := head.Open(head.Options{State: n, Placer: placer{d, n}, Groups: local, Log: log})
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	local.Head = h
	if err := h.RegisterNode(ctx, nodeRecord(d, &o)); err != nil {
		return h, fmt.Errorf("register node: %w", err)
	}
	d.SetHead(h)
	return h, nil
}

// waitForEnd returns when the daemon is to end.
func waitForEnd(d *daemon.Daemon, embedded bool, parent *process.Parent, parentPid int, log *slog.Logger) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	var gone <-chan struct{}
	if embedded {
		gone = parent.Gone(parentPid)
	}
	select {
	case <-d.Stopping():
	case <-term:
		log.Info("SIGTERM: ending")
	case <-gone:
		log.Info("the driver is gone: ending")
	}
}
