package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/headgroup"
	"github.com/eagleray/eagleray/core/internal/headprocess"
	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/join"
	"github.com/eagleray/eagleray/core/internal/nodeprocess"
	"github.com/eagleray/eagleray/core/internal/planted"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/warden"
)

// wardenLogName is the warden's log in the folder of its session.
const wardenLogName = "logs/warden.log"

// nodeSaid is what a warden says behind "ready", as JSON.
type nodeSaid struct {
	HeadPort int      `json:"head_port,omitempty"` // 0: the head is elsewhere
	Former   bool     `json:"former,omitempty"`    // the head goes on with the cluster of a former run
	Node     string   `json:"node"`                // the long id, in hex
	Number   uint32   `json:"number"`
	Warnings []string `json:"warnings,omitempty"` // of the daemon
}

// runWarden is the process that `start` leaves running: it keeps the processes of a node, the head and the daemon.
func runWarden(args []string, release string) error {
	f := flag.NewFlagSet("warden", flag.ContinueOnError)
	readyFD := f.Int("ready-fd", -1, "descriptor of the pipe on which this process says that the node is ready")
	dir := f.String("session-dir", "", "the session's directory")
	if err := f.Parse(args); err != nil {
		return usage("warden: wrong flags")
	}
	parent := process.OpenParent(*readyFD)
	process.Isolate()
	err := sessiondir.LogTo(*dir, wardenLogName) // makes the folder
	var text string
	if err == nil {
		text, err = process.ConfigText(process.FromStdin, os.Stdin)
	}
	if err == nil {
		err = keepNode(parent, *dir, text, release)
	}
	parent.SayWhy(err)
	return err
}

// keepNode runs a node until it ends or a signal comes.
func keepNode(parent *process.Parent, dir, text, release string) error {
	var c nodeConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return process.NewBadConfig(fmt.Errorf("config: %w", err))
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, unix.SIGTERM)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := process.WritePid(dir, process.WardenPid); err != nil {
		return err
	}
	n := &node{dir: dir, conf: c, release: release, log: log, parent: parent}
	var err error
	if n.self, err = os.Executable(); err != nil {
		return err
	}
	var children []warden.Child
	if c.Head != nil {
		children = append(children, warden.Child{Name: "head", Restart: true, Command: n.headCommand, Leaves: func(status int) bool { return status == process.RemovedStatus }})
	}
	children = append(children, warden.Child{
		Name: "daemon", Command: n.daemonCommand, Again: func(status int) bool { return status == process.RejoinStatus },
	})
	err = warden.Run(children, warden.Options{Signals: signals, Ready: n.ready, Ended: n.ended, ReadyLimit: process.ReadyLimit, Log: log})
	if e := markEnded(filepath.Dir(dir), dir); e != nil {
		log.Warn("clearing up", "error", e)
	}
	var failure *warden.Failure
	if errors.As(err, &failure) && failure.Reason != "" {
		if failure.Invalid {
			return process.NewBadConfig(errors.New(failure.Reason))
		}
		return errors.New(failure.Reason)
	}
	return err
}

// node is what the warden knows of its processes. Its methods are called from one goroutine.
type node struct {
	dir     string
	conf    nodeConfig
	release string
	self    string // the path of this program
	log     *slog.Logger
	parent  *process.Parent
}

// headCommand starts the head. One that is started again listens at the port that it had.
func (n *node) headCommand(said map[string]string) warden.Command {
	c := *n.conf.Head
	var before headprocess.Said
	if s, again := said["head"]; again && readySaid(s, &before) == nil {
		host, _, _ := net.SplitHostPort(c.Listen)
		c.Listen, c.AnyPort = net.JoinHostPort(host, strconv.Itoa(before.Port)), false
	}
	return n.command("head", []string{"--session-dir", n.dir}, c)
}

// daemonCommand starts the daemon, when the head is ready if there is one here.
func (n *node) daemonCommand(said map[string]string) warden.Command {
	c := n.conf.Node
	if n.conf.Head != nil {
		var head headprocess.Said
		if err := readySaid(said["head"], &head); err != nil {
			n.log.Error("the head of this node", "error", err) // and the daemon will say that it finds none
		}
		m := *c.Member
		m.Heads, m.Socket = []string{head.Local}, filepath.Join(n.dir, process.HeadSocket)
		c.Member = &m
	}
	return n.command("daemon", []string{"--own-log", "--session-dir", n.dir, "--config", process.FromStdin}, c)
}

// command runs this program with a configuration as its input.
func (n *node) command(name string, flags []string, conf any) warden.Command {
	input, err := json.Marshal(conf)
	if err != nil {
		n.log.Error("the configuration of a process", "process", name, "error", err) // the process says that it has none
	}
	ready := []string{"--ready-fd", strconv.Itoa(warden.ReadyFD)}
	if name == "daemon" {
		ready[0] = "--parent-fd"
	}
	// What a process writes before it has opened its log goes to the warden's.
	return warden.Command{Argv: append(append([]string{n.self, name}, ready...), flags...), Input: input, Output: os.Stderr}
}

// ready tells `start` that the node runs.
func (n *node) ready(said map[string]string) {
	var s nodeSaid
	var daemon nodeprocess.Said
	if err := readySaid(said["daemon"], &daemon); err != nil {
		n.log.Error("the daemon of this node", "error", err)
	}
	var head headprocess.Said
	list := n.conf.Node.Member.Heads
	if n.conf.Head != nil && readySaid(said["head"], &head) == nil {
		s.HeadPort, s.Former = head.Port, head.Former
		list = []string{net.JoinHostPort(n.conf.Node.NodeIP, strconv.Itoa(head.Port)), head.Local}
	}
	if err := heads.Write(n.dir, list); err != nil {
		n.log.Error("programs will not find the node by the head's address", "error", err)
	}
	if err := writeMember(n.dir, memberNote{n.conf.Node.Member.Token, n.conf.Node.Member.Insecure}); err != nil {
		n.log.Error("`eagleray heads` will need the token by name", "error", err)
	}
	s.Node, s.Number, s.Warnings = daemon.Node, daemon.Number, daemon.Warnings
	b, err := json.Marshal(s)
	if err != nil {
		n.log.Error("what the node says when it is ready", "error", err)
	}
	n.parent.Say("ready " + string(b))
	n.parent.Close()
}

// ended tells the heads that this node is gone, when nothing of it lives. With its only head the whole cluster ends.
func (n *node) ended(child string, status int, said string) {
	n.log.Info("ended", "process", child, "status", status)
	if child != "daemon" || said == "" || planted.Strikes(planted.NoWord) || n.conf.Head != nil && len(n.otherHeads()) == 0 {
		return
	}
	if err := n.sayEnded(said, status); err != nil {
		n.log.Warn("the head does not know yet that this node has ended", "error", err)
	}
}

// otherHeads returns where the other heads of the cluster are, of a node with a head.
func (n *node) otherHeads() (list []string) {
	f, err := headgroup.ReadFile(n.conf.Head.State.Folder(n.dir))
	if err != nil {
		return nil
	}
	self, err := f.Self()
	for _, h := range f.Heads {
		if err == nil && h.Number != self.Number {
			list = append(list, h.Addresses...)
		}
	}
	return list
}

func (n *node) sayEnded(said string, status int) error {
	var daemon nodeprocess.Said
	if err := readySaid(said, &daemon); err != nil {
		return err
	}
	id, err := daemon.NodeID()
	if err != nil {
		return err
	}
	m := n.conf.Node.Member
	token, err := m.Token.Read()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodeprocess.EndedLimit)
	defer cancel()
	list := slices.Concat(heads.Of(n.dir), m.Heads) // all heads may have moved since the start
	if n.conf.Head != nil {
		list = n.otherHeads()
	}
	c := join.Client{Heads: list, Token: token, Insecure: m.Insecure, Node: id, Release: n.release}
	return c.Ended(ctx, endText(status))
}

// endText says how a daemon has ended, by its exit code or the negative number of a signal.
func endText(status int) string {
	switch {
	case status == 0:
		return "it was stopped"
	case status < 0:
		return fmt.Sprintf("its daemon was killed by signal %d (%s)", -status, unix.SignalName(unix.Signal(-status)))
	}
	return fmt.Sprintf("its daemon ended with exit code %d", status)
}
