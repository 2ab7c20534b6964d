package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Files in the folder of a session with the numbers of its processes.
const (
	daemonPidName = "pid"
	wardenPidName = "warden.pid"
	headPidName   = "head.pid"
)

// roles are the words that name these processes in their command lines.
var roles = map[string]string{daemonPidName: "daemon", wardenPidName: "warden", headPidName: "head"}

func writePid(dir, name string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

// pidOf returns a process of a session, verified: its command line names the session. 0 when there is none.
func pidOf(dir, name string) int {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return 0
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(line), "\x00"+roles[name]+"\x00") || !strings.Contains(string(line), "\x00"+dir+"\x00") {
		return 0
	}
	return pid
}

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
		if pid := pidOf(dir, wardenPidName); pid != 0 {
			list = append(list, started{dir: dir, warden: pid, head: pidOf(dir, headPidName) != 0})
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

// leaveDaemon removes what only a daemon needs, when it has ended.
func leaveDaemon(dir string) {
	for _, name := range []string{"lock", daemonPidName, "d.sock", "p"} {
		os.RemoveAll(filepath.Join(dir, name))
	}
}

// markEnded says that a session has ended, so that its folder may go, and that it is not the current one any more: another
// node of this machine is, if one runs.
func markEnded(base, dir string) error {
	leaveDaemon(dir)
	for _, name := range []string{headPidName, headSocketName, stateName, headsName, wardenPidName} {
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
	files, _ := filepath.Glob(filepath.Join(base, "s-*", wardenPidName))
	for _, file := range files {
		dir := filepath.Dir(file)
		if pidOf(dir, wardenPidName) == 0 && pidOf(dir, headPidName) == 0 && pidOf(dir, daemonPidName) == 0 {
			_ = markEnded(base, dir) // what cannot be marked stays, and is looked at again
		}
	}
}

// kill ends all processes of a session at once.
func (s *started) kill() {
	for _, name := range []string{wardenPidName, headPidName, daemonPidName} {
		if pid := pidOf(s.dir, name); pid != 0 {
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
