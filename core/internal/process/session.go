package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Files in the folder of a session with the numbers of its processes.
const (
	DaemonPid = "pid"
	WardenPid = "warden.pid"
	HeadPid   = "head.pid"
)

// roles are the words that name these processes in their command lines.
var roles = map[string]string{DaemonPid: "daemon", WardenPid: "warden", HeadPid: "head"}

// WritePid notes the number of this process in the folder of its session. Who reads the file meanwhile finds the number before or this one.
func WritePid(dir, name string) error {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// PidOf returns a process of a session, verified: its command line names the session. 0 when there is none.
func PidOf(dir, name string) int {
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

// Names in the folder of a session with a head.
const (
	HeadSocket = "h.sock" // where the daemon of this machine talks with the head
	HeadState  = "state"  // the folder of the cluster's state, unless another one is named
)

// LeaveDaemon removes what only a daemon needs, when it has ended.
func LeaveDaemon(dir string) {
	for _, name := range []string{"lock", DaemonPid, "d.sock", "p"} {
		os.RemoveAll(filepath.Join(dir, name))
	}
}
