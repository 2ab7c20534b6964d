package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/userdir"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// errNoCluster means that nothing is running that `start` began.
var errNoCluster = errors.New("no cluster is running on this machine; begin one with: eagleray start --head")

func baseOf(flags map[string]string) string {
	if dir := flags["--temp-dir"]; dir != "" {
		return userdir.In(dir)
	}
	return userdir.Base()
}

// ownBase is baseOf for a command that believes what lies there: it is an error if another user has made the folder.
func ownBase(flags map[string]string) (string, error) {
	base := baseOf(flags)
	return base, userdir.Check(base)
}

// currentFile holds the path of the session that start left running.
func currentFile(base string) string { return filepath.Join(base, "current") }

// currentSession reads it; errNoCluster when there is none.
func currentSession(base string) (string, error) {
	b, err := os.ReadFile(currentFile(base))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoCluster
	}
	if err != nil {
		return "", err
	}
	dir := strings.TrimSpace(string(b))
	if filepath.Dir(dir) != filepath.Clean(base) {
		return "", fmt.Errorf("%s names %q, which is not a session of yours", currentFile(base), dir)
	}
	return dir, nil
}

// setCurrent writes it in one step.
func setCurrent(base, dir string) error {
	tmp := currentFile(base) + "." + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(tmp, []byte(dir+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, currentFile(base))
}

// clearCurrent removes it if it still names the session.
func clearCurrent(base, dir string) {
	if now, err := currentSession(base); err == nil && now == dir {
		os.Remove(currentFile(base))
	}
}

// cluster is a connection to a session's daemon.
type cluster struct {
	dir  string
	pid  int
	peer *wire.Peer
}

// dialLimit is what a daemon that is not stuck needs at the very most.
const dialLimit = 2 * time.Second

func dialCluster(dir string) (*cluster, error) {
	type answer struct {
		c   *cluster
		err error
	}
	got := make(chan answer, 1)
	go func() {
		u, r, fd, err := wire.Dial(filepath.Join(dir, "d.sock"), wire.Hello{Version: wire.Version, Role: wire.RoleCLI, Pid: os.Getpid()})
		if err != nil {
			got <- answer{nil, fmt.Errorf("daemon of session %s: %w", dir, err)}
			return
		}
		if fd >= 0 {
			unix.Close(fd)
		}
		c := &cluster{dir: dir, pid: r.DaemonPid}
		c.peer = wire.NewPeer(u, func(*wire.Message) {}, nil)
		c.peer.Start()
		got <- answer{c, nil}
	}()
	select {
	case a := <-got:
		return a.c, a.err
	case <-time.After(dialLimit):
		return nil, fmt.Errorf("daemon of session %s: no answer within %v", dir, dialLimit)
	}
}

func (c *cluster) close() { c.peer.Close() }

// callLimit bounds a question of the command line.
const callLimit = 10 * time.Second

func (c *cluster) call(t wire.Type, reply any) error { return c.ask(t, nil, reply) }

// ask is call for a question with a body.
func (c *cluster) ask(t wire.Type, body, reply any) error {
	return c.askWithin(callLimit, t, body, reply)
}

func (c *cluster) askWithin(limit time.Duration, t wire.Type, body, reply any) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return c.peer.Call(ctx, t, body, reply)
}

// waitEnd waits for a process's end.
func waitEnd(pid int, limit time.Duration) bool {
	gone := make(chan struct{})
	if _, err := workers.Watch(pid, func(*workers.Process) { close(gone) }); err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	select {
	case <-gone:
		return true
	case <-time.After(limit):
		return false
	}
}
