package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/jobweb"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/process"
)

// started is a node of this machine that `start` began and that runs.
type started struct {
	dir    string
	warden int
	head   bool // the head of its cluster is in the session, too
}

// startedBelow returns the nodes below a base, those with a head first.
func startedBelow(base string) (list []started) {
	dirs, _ := filepath.Glob(filepath.Join(base, "s-*"))
	for _, dir := range dirs {
		if pid := process.PidOf(dir, process.WardenPid); pid != 0 {
			list = append(list, started{dir: dir, warden: pid, head: process.PidOf(dir, process.HeadPid) != 0})
		}
	}
	slices.SortStableFunc(list, func(a, b started) int {
		switch {
		case a.head == b.head:
			return 0
		case a.head:
			return -1
		}
		return 1
	})
	return list
}

// markEnded says that a session has ended, so that its folder may go, and that it is not the current one any more: another
// node of this machine is, if one runs.
func markEnded(base, dir string) error {
	objects.SweepSpilled(dir) // a daemon that was killed could not
	process.LeaveDaemon(dir)
	for _, name := range []string{process.HeadPid, process.HeadSocket, process.HeadState, process.WebFile, jobweb.SocketName, jobweb.PackagesName, heads.Name, memberFile, process.WardenPid} {
		os.RemoveAll(filepath.Join(dir, name))
	}
	err := os.WriteFile(filepath.Join(dir, endedName), nil, 0o600)
	if err != nil {
		err = fmt.Errorf("mark session %s as ended: %w", dir, err)
	}
	if now, e := currentSession(base); e != nil || now != dir {
		return err
	}
	for _, s := range startedBelow(base) {
		if s.dir != dir {
			if e := setCurrent(base, s.dir); err == nil {
				err = e
			}
			return err
		}
	}
	clearCurrent(base, dir)
	return err
}

// markKilled marks the sessions whose warden was killed before it could, when no other process of theirs runs.
func markKilled(base string) {
	files, _ := filepath.Glob(filepath.Join(base, "s-*", process.WardenPid))
	for _, file := range files {
		dir := filepath.Dir(file)
		if process.PidOf(dir, process.WardenPid) == 0 && process.PidOf(dir, process.HeadPid) == 0 && process.PidOf(dir, process.DaemonPid) == 0 {
			_ = markEnded(base, dir) // what cannot be marked stays, and is looked at again
		}
	}
}

// kill ends all processes of a session at once.
func (s *started) kill() {
	for _, name := range []string{process.WardenPid, process.HeadPid, process.DaemonPid} {
		if pid := process.PidOf(s.dir, name); pid != 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// readySaid reads the JSON that a process has said behind "ready".
func readySaid(said string, to any) error {
	if err := json.Unmarshal([]byte(said), to); err != nil {
		return fmt.Errorf("what it said when it was ready, %.200q: %w", said, err)
	}
	return nil
}
