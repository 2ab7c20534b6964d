package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/process"
)

// shortTimeout makes nodes die after the shortest silence that is possible.
const shortTimeout = `--system-config={"node_timeout": 5}`

// daemonOf returns the process of the daemon of the only node below a folder.
func (m *host) daemonOf() int {
	m.t.Helper()
	pid := process.PidOf(startedBelow(m.base())[0].dir, process.DaemonPid)
	if pid == 0 {
		m.t.Fatal("the node has no daemon")
	}
	return pid
}

// signalDaemon sends a signal to the daemon of the only node below a folder.
func (m *host) signalDaemon(s unix.Signal) (pid int) {
	m.t.Helper()
	pid = m.daemonOf()
	if err := unix.Kill(pid, s); err != nil {
		m.t.Fatal(err)
	}
	return pid
}

// join starts a node of the cluster.
func (m *host) join(address, token, name string) string {
	m.t.Helper()
	return m.mustRun(small("--address="+address, "--token-file="+token, "--node-name="+name)...)
}

// A node falls silent, is unreachable, and then dead. When it is heard again, it ends what it has, and joins as a new node.
func TestNode_Silent_DiesAndComesBackAsANewOne(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head(shortTimeout)
	b.join(address, token, "second")
	a.awaitStatus(bothAlive)
	stopped := b.signalDaemon(unix.SIGSTOP)
	begun := time.Now()
	a.awaitStatus(`unreachable node  \w{8}  second `)
	unreachable := time.Since(begun)
	a.awaitStatus(`dead node  \w{8}  second `)
	dead := time.Since(begun)
	if unreachable < 2*time.Second || dead < 4500*time.Millisecond {
		t.Errorf("unreachable after %v and dead after %v, with a node_timeout of 5 s", unreachable, dead)
	}
	t.Logf("unreachable after %v, dead after %v", unreachable, dead)
	if err := unix.Kill(stopped, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	text := a.awaitStatus(`(?s)dead node  \w{8}  second .*alive node  \w{8}  second `)
	if n := strings.Count(text, "  second "); n != 2 {
		t.Errorf("%d nodes with that name in\n%s", n, text)
	}
	b.awaitStatus(`(?s)dead node  \w{8}  second .*alive node  \w{8}  second `)
	if now := b.daemonOf(); now == stopped {
		t.Errorf("process %d is the daemon of the new node, too", now)
	}
	logged, err := os.ReadFile(startedBelow(b.base())[0].dir + "/logs/daemon.log")
	if err != nil || !strings.Contains(string(logged), "nothing was heard from it for 5s") {
		t.Errorf("the log of the node has no reason: %v\n%s", err, logged)
	}

	// The warden tells of the end of the node that it has now.
	b.mustRun("stop")
	b.mustBeEmpty()
	text = a.awaitStatus(`(?s)dead node  \w{8}  second .*dead node  \w{8}  second `)
	if regexp.MustCompile(`alive node`).MatchString(text) {
		t.Errorf("a node is alive in\n%s", text)
	}
	a.mustRun("stop")
	a.mustBeEmpty()
}

// A head that is started again judges the nodes, also those that fell silent before.
func TestNode_SilentWhileTheHeadIsAway_IsDead(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head(shortTimeout)
	b.join(address, token, "second")
	a.awaitStatus(bothAlive)
	pid := b.signalDaemon(unix.SIGSTOP)
	defer unix.Kill(pid, unix.SIGCONT)
	if err := unix.Kill(process.PidOf(startedBelow(a.base())[0].dir, process.HeadPid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	text := a.awaitStatus(`dead node  \w{8}  second `)
	if after := time.Since(begun); after < 4*time.Second || !strings.Contains(text, "alive head") {
		t.Errorf("after %v\n%s", after, text)
	}
}

func TestStart_SettingsOfTheCluster_AreChecked(t *testing.T) {
	a := newHost(t)
	for flags, want := range map[string]string{
		`--head --system-config={"node_timeout":4}`:                      "node_timeout is 4 seconds, and must be from 5s to 1m0s",
		`--head --system-config={"node_timeout":-1}`:                     "node_timeout is -1 seconds, and must be from 5s to 1m0s",
		`--head --system-config={"node_timeout":"soon"}`:                 "node_timeout is soon, must be a number of seconds",
		`--address=10.0.0.1:1 --system-config={"node_timeout":10}`:       "node_timeout is a setting of the whole cluster: give it to `eagleray start --head`",
		`--head --system-config={"exclusive_actors":1}`:                  "exclusive_actors is 1, must be true or false",
		`--address=10.0.0.1:1 --system-config={"exclusive_actors":true}`: "exclusive_actors is a setting of the whole cluster: give it to `eagleray start --head`",
	} {
		if status, text := a.run(small(strings.Fields(flags)...)...); status != 2 || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, %s", flags, status, text)
		}
	}
}

// A node whose head does not come back waits, and says so. When another cluster is at the address, it says that.
func TestNode_HeadIsGone_StatusSaysSo(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head()
	b.join(address, token, "second")
	a.mustRun("stop")
	b.awaitAnswer(1, "If that head will not come back, end this node with `eagleray stop`")
	begun := time.Now()
	if status, text := b.run("status"); status != 1 || time.Since(begun) > 3*time.Second {
		t.Errorf("status %d after %v\n%s", status, time.Since(begun), text)
	}
	_, port, _ := strings.Cut(address, ":")
	a.mustRun(small("--head", "--port="+port, "--node-ip-address=127.0.0.1", "--token-file="+token)...)
	b.awaitAnswer(1, "Another cluster is at its address now")
	b.mustRun("stop")
	if text := b.join(address, token, "first"); strings.Count(text, `two nodes of the cluster are called "first"`) > 0 {
		t.Errorf("the other node has no given name:\n%s", text)
	}
	text := b.join(address, token, "first")
	if strings.Count(text, `two nodes of the cluster are called "first": node `) != 1 {
		t.Errorf("no warning of two nodes with one name in\n%s", text)
	}
	a.awaitStatus(`(?s)alive node  \w{8}  first .*alive node  \w{8}  first `)
}
