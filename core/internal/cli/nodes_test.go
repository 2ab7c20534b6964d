package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/linkmsg"
	"github.com/eagleray/eagleray/core/internal/pki"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/tests/await"
)

// host stands for one machine: a folder for sessions.
type host struct {
	t   *testing.T
	tmp string
}

func newHost(t *testing.T) *host {
	for _, name := range []string{tokenFileVar, rayAuthModeVar, rayTokenVar, rayTokenPathVar, "RAY_ADDRESS", "EAGLERAY_ADDRESS", infeasibleVar, "RAY_" + storagePathVar, "EAGLERAY_" + storagePathVar} {
		t.Setenv(name, "")
	}
	tmp, err := os.MkdirTemp("/tmp", "er") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	m := &host{t, tmp}
	t.Cleanup(func() {
		m.run("stop", "--force")
		os.RemoveAll(tmp)
	})
	return m
}

func (m *host) base() string { return filepath.Join(m.tmp, fmt.Sprintf("eagleray-%d", os.Getuid())) }

// run runs a command and returns its status and what it wrote.
func (m *host) run(args ...string) (status int, text string) {
	m.t.Setenv("EAGLERAY_TMPDIR", m.tmp)
	var out strings.Builder
	status = Main(args, "1.2.3", &out, &out)
	return status, out.String()
}

func (m *host) mustRun(args ...string) string {
	m.t.Helper()
	status, text := m.run(args...)
	if status != 0 {
		m.t.Fatalf("%v: status %d\n%s", args, status, text)
	}
	return text
}

// small are flags of a node that costs little.
func small(flags ...string) []string {
	return append([]string{"start", "--num-cpus=1", "--num-gpus=0", "--object-store-memory=80000000"}, flags...)
}

// left returns what of nodes is on the machine.
func (m *host) left() (list []string) {
	for _, pattern := range []string{"s-*/*.pid", "s-*/pid", "s-*/*.sock", "s-*/p", "s-*/lock", "current"} {
		found, _ := filepath.Glob(filepath.Join(m.base(), pattern))
		list = append(list, found...)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), m.tmp+"/") {
			list = append(list, strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return list
}

func (m *host) mustBeEmpty() {
	m.t.Helper()
	if left := m.left(); len(left) > 0 {
		m.t.Errorf("left: %q", left)
	}
}

// head starts a head and returns its address and the file of its token.
func (m *host) head(flags ...string) (address, token string) {
	m.t.Helper()
	text := m.mustRun(small(append([]string{"--head", "--port=0", "--node-ip-address=127.0.0.1", "--node-name=first"}, flags...)...)...)
	found := regexp.MustCompile(`--address='(\S+)' --token-file=(\S+)`).FindStringSubmatch(text)
	if found == nil {
		m.t.Fatalf("no command for other machines in\n%s", text)
	}
	return found[1], found[2]
}

// awaitStatus waits until the status matches.
func (m *host) awaitStatus(pattern string) string {
	m.t.Helper()
	return m.awaitAnswer(0, pattern)
}

// awaitAnswer runs `status` until it ends with that exit status and a text that has the pattern.
func (m *host) awaitAnswer(exit int, pattern string) string {
	m.t.Helper()
	want := regexp.MustCompile(pattern)
	for end := time.Now().Add(20 * time.Second); ; {
		status, text := m.run("status")
		if status == exit && want.MatchString(text) {
			return text
		}
		if time.Now().After(end) {
			m.t.Fatalf("no %q in (status %d)\n%s", pattern, status, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const bothAlive = `(?s)alive head  \w{8}  first .*alive node  \w{8}  second `

func TestStart_SecondNodeJoins(t *testing.T) {
	for _, mode := range []string{"", "--insecure"} {
		t.Run("mode"+mode, func(t *testing.T) {
			a, b := newHost(t), newHost(t)
			flags := strings.Fields(mode)
			address, token := a.head(flags...)
			if st, err := os.Stat(token); err != nil || st.Mode().Perm() != 0o600 {
				t.Errorf("the token file: %v, %v", st, err)
			}
			begun := time.Now()
			text := b.mustRun(small(append(flags, "--address="+address, "--token-file="+token, "--node-name=second", `--resources={"b":2}`)...)...)
			if !strings.Contains(text, "node 2 of the cluster of "+address) {
				t.Errorf("the second node says\n%s", text)
			}
			t.Logf("joined within %v", time.Since(begun))
			for _, m := range []*host{a, b} {
				text := m.awaitStatus(bothAlive)
				if !regexp.MustCompile(`\n  b +0 / 2\n`).MatchString(text) || !regexp.MustCompile(`\n  CPU +0 / 2\n`).MatchString(text) || strings.Count(text, "  CPU 0 / 1, ") != 2 {
					t.Errorf("the totals of both nodes are not in\n%s", text)
				}
			}
			_, port, _ := net.SplitHostPort(address)
			for _, same := range []string{address, "localhost:" + port} {
				if shown := b.mustRun("status", "--address="+same); !strings.Contains(shown, b.base()) || !strings.Contains(shown, "  second ") {
					t.Errorf("status --address=%s shows\n%s", same, shown)
				}
			}
			t.Setenv("RAY_ADDRESS", address)
			if shown := a.mustRun("status"); !strings.Contains(shown, a.base()) {
				t.Errorf("with RAY_ADDRESS=%s status shows\n%s", address, shown)
			}
			t.Setenv("RAY_ADDRESS", "127.0.0.1:1")
			if status, text := b.run("status"); status != 1 || !strings.Contains(text, "RAY_ADDRESS: no node of the cluster at 127.0.0.1:1 runs on this machine") {
				t.Errorf("the address of no head: status %d, %s", status, text)
			}
			t.Setenv("RAY_ADDRESS", "")
			if warned := strings.Contains(text, "--insecure: whoever can read the network"); warned != (mode != "") {
				t.Errorf("a warning of --insecure: %v\n%s", warned, text)
			}
			for _, m := range []*host{a, b} { // who comes later, and did not see the start, is told, too
				if warned := strings.Contains(m.mustRun("status"), "Without encryption (--insecure: whoever can read the network"); warned != (mode != "") {
					t.Errorf("status warns: %v", warned)
				}
			}
			for m, logs := range map[*host][]string{a: {"head.log", "daemon.log"}, b: {"daemon.log"}} {
				for _, name := range logs {
					dir, err := currentSession(m.base())
					if err != nil {
						t.Fatal(err)
					}
					text, err := os.ReadFile(filepath.Join(dir, "logs", name))
					if warned := strings.Contains(string(text), "level=WARN msg=\"--insecure: whoever can read the network"); err != nil || warned != (mode != "") {
						t.Errorf("%s warns: %v, %v\n%s", name, warned, err, text)
					}
				}
			}
			b.mustRun("stop")
			b.mustBeEmpty()
			a.awaitStatus(`dead node  \w{8}  second `)
			a.mustRun("stop")
			a.mustBeEmpty()
		})
	}
}

func TestStart_TwoNodesOfOneFolder_StopEndsBothAndCurrentIsTheFirst(t *testing.T) {
	a := newHost(t)
	address, _ := a.head()
	a.mustRun(small("--address="+address, "--node-name=second")...)
	nodes := startedBelow(a.base())
	if len(nodes) != 2 || !nodes[0].head || nodes[1].head {
		t.Fatalf("running: %+v", nodes)
	}
	if dir, err := currentSession(a.base()); err != nil || dir != nodes[0].dir {
		t.Errorf("the current session is %s, %v; the head's is %s", dir, err, nodes[0].dir)
	}
	if status, text := a.run(small("--head")...); status != 1 || !strings.Contains(text, "a cluster is running on this machine already") {
		t.Errorf("a second head: %d, %s", status, text)
	}
	if text := a.mustRun("stop"); strings.Count(text, "Stopped") != 2 {
		t.Errorf("stop says\n%s", text)
	}
	a.mustBeEmpty()
}

func TestStart_FirstNodeOfOneFolderEnds_TheOtherIsCurrent(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head()
	for _, name := range []string{"second", "third"} {
		b.mustRun(small("--address="+address, "--token-file="+token, "--node-name="+name)...)
	}
	first, err := currentSession(b.base())
	if err != nil {
		t.Fatal(err)
	}
	pid := process.PidOf(first, process.DaemonPid)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	text := b.awaitStatus(`dead node  \w{8}  second .*\n.*alive node  \w{8}  third `)
	mustHaveNoSpilled(t, first)
	if now, err := currentSession(b.base()); err != nil || now == first {
		t.Errorf("the current session is %s, %v", now, err)
	}
	_ = text
	if _, listed := a.run("status"); !strings.Contains(listed, "dead node") {
		t.Errorf("the head's node shows\n%s", listed)
	}
}

// A node that is not what programs without an address find says how they find it.
func TestStart_NodeOfAnotherClusterInTheSameFolder_SaysHowItIsReached(t *testing.T) {
	a, b := newHost(t), newHost(t)
	mine, _ := a.head()
	other, token := b.head()
	said := a.mustRun(small("--address="+other, "--token-file="+token, "--node-name=guest")...)
	for _, want := range []string{`ray.init(address="` + other + `")`, "eagleray status --address=" + other, "`eagleray stop` ends both"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if shown := a.mustRun("status"); strings.Contains(shown, "guest") {
		t.Errorf("status without an address shows\n%s", shown)
	}
	t.Setenv("RAY_ADDRESS", mine)
	t.Setenv("EAGLERAY_ADDRESS", other) // as in a program, this one counts
	if shown := a.mustRun("status"); !strings.Contains(shown, "guest") {
		t.Errorf("with EAGLERAY_ADDRESS status shows\n%s", shown)
	}
	again := a.mustRun(small("--address="+mine, "--node-name=second")...)
	if !strings.Contains(again, "ray.init()") || strings.Contains(again, "ends both") {
		t.Errorf("a second node of the same cluster says\n%s", again)
	}
}

// A message about a session in another folder names the command that ends that one, and not the cluster of the usual folder.
func TestStart_HeadRunsInTheFolderOfTempDir_SaysWhatEndsIt(t *testing.T) {
	a, b := newHost(t), newHost(t)
	b.head()
	status, text := a.run(small("--head", "--temp-dir="+b.tmp)...)
	if want := "end it first with: EAGLERAY_TMPDIR=" + b.tmp + " eagleray stop, or begin another one beside it"; status != 1 || !strings.Contains(text, want) {
		t.Errorf("status %d, want %q\n%s", status, want, text)
	}
}

// within runs a command that must fail soon, and returns what it said.
func (m *host) within(limit time.Duration, status int, args ...string) string {
	m.t.Helper()
	begun := time.Now()
	got, text := m.run(args...)
	if took := time.Since(begun); got != status || took > limit {
		m.t.Errorf("%v: status %d after %v, want %d within %v\n%s", args, got, took, status, limit, text)
	}
	m.mustBeEmpty()
	return text
}

// The kernel ends the processes of a node whose warden is killed, and the next command clears up.
func TestStop_WardenWasKilled_NothingIsLeft(t *testing.T) {
	a := newHost(t)
	a.head()
	node := startedBelow(a.base())[0]
	pids := []int{process.PidOf(node.dir, process.DaemonPid), process.PidOf(node.dir, process.HeadPid)}
	if err := unix.Kill(node.warden, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(pids, node.warden) {
		if pid == 0 || !waitEnd(pid, 20*time.Second) {
			t.Fatalf("process %d of %v does not end", pid, pids)
		}
	}
	if text := a.mustRun("stop"); !strings.Contains(text, "No cluster is running") {
		t.Errorf("stop says %s", text)
	}
	a.mustBeEmpty()
	if _, err := os.Stat(filepath.Join(node.dir, endedName)); err != nil {
		t.Errorf("the session is not marked as ended: %v", err)
	}
	mustHaveNoSpilled(t, node.dir)
}

// mustHaveNoSpilled says that nothing is left of where a session spilled objects that ends.
func mustHaveNoSpilled(t *testing.T, session string) {
	t.Helper()
	await.Within(t, await.Limit, "the session is marked as ended", func() bool {
		_, err := os.Stat(filepath.Join(session, endedName))
		return err == nil
	})
	left, err := filepath.Glob(filepath.Join(session, "*spilled*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left of spilling: %v, %v", left, err)
	}
}

// The head is killed twice. Its successor knows the nodes, and gives a new node a number that nobody has had.
func TestStart_HeadIsKilled_ItsSuccessorGoesOn(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head()
	b.mustRun(small("--address="+address, "--token-file="+token, "--node-name=second")...)
	nodes := startedBelow(a.base())
	for range 2 {
		pid := process.PidOf(nodes[0].dir, process.HeadPid)
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*host{a, b} {
			m.awaitStatus(bothAlive)
		}
	}
	text := b.mustRun(small("--address="+address, "--token-file="+token, "--node-name=third")...)
	if !strings.Contains(text, "node 3 of the cluster of "+address) {
		t.Errorf("the third node says\n%s", text)
	}
	a.awaitStatus(bothAlive + `.*alive node  \w{8}  third `)
	b.mustRun("stop")
	a.mustRun("stop")
	a.mustBeEmpty()
	b.mustBeEmpty()
}

const failLimit = 10 * time.Second

func TestStart_WrongTokenOtherVersionNoAnswer_SaysSo(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head()
	says := func(text string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}

	other := filepath.Join(b.tmp, "other")
	if err := pki.WriteToken(other, pki.NewToken(other)); err != nil {
		t.Fatal(err)
	}
	says(b.within(failLimit, 2, small("--address="+address, "--token-file="+other)...), "token from "+other, "does not know", address)

	t.Setenv(rayTokenVar, pki.NewToken("").Text())
	says(b.within(failLimit, 2, small("--address="+address)...), "variable "+rayTokenVar, "does not know")
	t.Setenv(rayTokenVar, "")

	says(b.within(failLimit, 1, small("--address="+address, "--token-file="+token, "--insecure")...), address, "leave --insecure out here")

	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts, and the kernel connects
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	at := silent.Addr().String()
	says(b.within(failLimit, 1, small("--address="+at, "--token-file="+token)...), "no head answers", at)

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at = closed.Addr().String()
	closed.Close()
	says(b.within(failLimit, 1, small("--address="+at+",nowhere.invalid:6379", "--token-file="+token)...), at+": connect: connection refused", "nowhere.invalid", "may this machine reach the port")

	says(b.within(failLimit, 1, small("--address="+newerHead(t, token), "--token-file="+token)...), `is Eagle Ray "9.8.7" and this is Eagle Ray "1.2.3"`, "install the same release", "messages between heads and nodes: theirs have version ")

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	holder := fmt.Sprintf("port %s is taken by pid %d (", port, os.Getpid())
	says(b.within(failLimit, 2, small("--address="+address, "--token-file="+token, "--node-ip-address=127.0.0.1", "--node-manager-port="+port)...), holder, "--node-manager-port")
	says(b.within(failLimit, 2, small("--head", "--node-ip-address=127.0.0.1", "--port="+port)...), holder, "--port")

	a.awaitStatus(`alive head`)
	if _, text := a.run("status"); strings.Contains(text, " node  ") {
		t.Errorf("a node that did not join is shown:\n%s", text)
	}
}

// A node of another release whose processes understand the cluster's joins, and start warns.
func TestStart_OtherReleaseOfTheSameProtocol_Warns(t *testing.T) {
	a, b := newHost(t), newHost(t)
	address, token := a.head()
	if text := b.join(address, token, "same"); strings.Contains(text, "is Eagle Ray") {
		t.Errorf("a warning of nothing:\n%s", text)
	}
	b.mustRun("stop")
	t.Setenv(releaseVar, "1.2.2")
	text := b.join(address, token, "second")
	for _, want := range []string{`eagleray: start: the head of the cluster is Eagle Ray "1.2.3" and this is Eagle Ray "1.2.2"`, "install the same release on all machines"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is not once in\n%s", want, text)
		}
	}
}

// newerHead plays a head of a later release that knows the token.
func newerHead(t *testing.T, tokenFile string) (address string) {
	token, err := pki.ReadToken(tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	self := pki.Identity{Cluster: pki.NewCluster(), Generation: 1, Role: pki.RoleHead}
	authority, err := pki.NewAuthority(self.Cluster, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := process.OwnCertificate(self, func(request []byte, id pki.Identity) ([]byte, [][]byte, error) {
		signed, err := authority.Sign(request, id, time.Now())
		return signed, [][]byte{authority.Certificate()}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	answer := func(nc net.Conn) error {
		defer nc.Close()
		c, err := pki.OverTLS(context.Background(), tls.Server(nc, cert.TLS()("other", pki.JoinProtocol)))
		if err != nil {
			return err
		}
		return pki.JoinServer(context.Background(), c, []pki.Token{token}, func(context.Context, pki.Ask) (a pki.Answer, err error) {
			a.Body, err = linkmsg.Encode("the answer", &linkmsg.Joined{Version: 99, MinVersion: 98, Release: "9.8.7"})
			return a, err
		})
	}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			if err := answer(nc); err != nil {
				t.Logf("the played head: %v", err)
			}
		}
	}()
	return l.Addr().String()
}
