package play

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/head"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
	"github.com/eagleray/eagleray/raftstate"
)

// Number is the number of a session's node.
const Number = 7

// Session is a daemon in this process, with a head over a state of its own.
type Session struct {
	T   testing.TB
	D   *daemon.Daemon
	Dir string

	head  *head.Head
	state *raftstate.Node
	ended bool
}

// Start begins a session with so many CPUs and two GPUs.
func Start(t testing.TB, cpus int64) *Session {
	t.Helper()
	return StartWith(t, cpus, func(*daemon.Options) {})
}

// StartWith is Start with other options.
func StartWith(t testing.TB, cpus int64, change func(*daemon.Options)) *Session {
	t.Helper()
	return start(t, cpus, change, func(h daemon.Head) daemon.Head { return h })
}

// StartBehind is Start where the daemon reaches its head only through what behind returns.
func StartBehind(t testing.TB, cpus int64, behind func(daemon.Head) daemon.Head) *Session {
	t.Helper()
	return start(t, cpus, func(*daemon.Options) {}, behind)
}

func start(t testing.TB, cpus int64, change func(*daemon.Options), behind func(daemon.Head) daemon.Head) *Session {
	t.Helper()
	base, err := os.MkdirTemp("", "er") // t.TempDir's names are too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &Session{T: t, Dir: filepath.Join(base, "s")}
	o := daemon.Options{
		SessionDir: s.Dir, Node: ids.NewNode(), Number: Number, Totals: resource.Set{resource.CPU: resource.FromInt(cpus)}, Devices: GPUs(2),
		Log: slog.New(slog.DiscardHandler), ArenaBytes: 100 << 20, CPUs: int(cpus), Hostname: "here", Address: "192.0.2.1", Labels: map[string]string{"zone": "a"}, IsHead: true,
	}
	change(&o)
	local := &groups.Local{Node: o.Node, Labels: o.Labels}
	o.Bundles = local
	if s.D, err = daemon.Open(o); err != nil {
		t.Fatal(err)
	}
	s.D.Serve()
	if s.state, err = raftstate.Open(raftstate.Options{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	local.Event = s.D.Event
	if s.head, err = head.Open(head.Options{State: s.state, Placer: placer{s.D}, Groups: local}); err != nil {
		t.Fatal(err)
	}
	local.Head = s.head
	t.Cleanup(s.End)
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	if err := s.head.AwaitReports(ctx); err != nil {
		t.Fatal(err)
	}
	node := record.Node{ID: o.Node, Name: o.Name, Address: o.Address, Hostname: o.Hostname, SessionDir: s.Dir, Resources: record.Resources(s.D.Totals()), IsHead: true}
	if err := s.head.RegisterNode(ctx, node); err != nil {
		t.Fatal(err)
	}
	s.D.SetHead(behind(s.head))
	return s
}

// End ends the session, and checks that its folder goes with it.
func (s *Session) End() {
	if s.ended {
		return
	}
	s.ended = true
	s.head.Close()
	s.D.Close(false)
	_ = s.state.Close()
	if _, err := os.Stat(s.Dir); err == nil {
		s.T.Error("the session's folder is left")
	}
}

// Record returns what the state has of an actor.
func (s *Session) Record(id ids.Actor) (record.Actor, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	return s.head.Actor(ctx, id)
}

// Connect joins as a role.
func (s *Session) Connect(role string) *Driver {
	s.T.Helper()
	return Connect(s.T, s.Dir, role)
}

// Tool joins as a command line tool.
func (s *Session) Tool() *Driver { return s.Connect(wire.RoleCLI) }

// Driver joins as a driver and begins a job, whose processes have these variables.
func (s *Session) Driver(env map[string]string) *Driver {
	s.T.Helper()
	return Join(s.T, s.Dir, env)
}

// placer gives the daemon's methods the head's types, as the binary does.
type placer struct{ d *daemon.Daemon }

func (p placer) PlaceActor(a record.Actor) { p.d.PlaceActor(a, 0) }
func (p placer) StopActor(i record.Instance, how head.Stop) {
	p.d.StopActor(i, how == head.StopDrain)
}
