package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// symmetricRun is the command on one machine, which runs beside others in this process.
type symmetricRun struct {
	status int
	text   strings.Builder
	done   chan struct{}
}

// goSymmetric starts the command with a folder of its own for sessions.
func (m *host) goSymmetric(args ...string) *symmetricRun {
	r := &symmetricRun{done: make(chan struct{})}
	words := append([]string{symmetricName, "--temp-dir=" + m.tmp, "--num-cpus=1", "--num-gpus=0", "--object-store-memory=80000000"}, args...)
	go func() {
		defer close(r.done)
		r.status = Main(words, "1.2.3", &r.text, &r.text)
	}()
	return r
}

// end waits until the command has ended.
func (r *symmetricRun) end(t *testing.T) (int, string) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		t.Fatal("the command does not end")
	}
	return r.status, r.text.String()
}

// freePort is a port at which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// outerAddress is an address of this machine that is not of the loopback, "" if it has none.
func outerAddress(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

// withOuterAddress runs a test with an address of this machine that is not of the loopback. On a machine without one, the test runs in a
// network namespace of its own that has one.
func withOuterAddress(t *testing.T, test func(ip string)) {
	t.Helper()
	if ip := outerAddress(t); ip != "" {
		test(ip)
		return
	}
	in := func(words ...string) (string, error) {
		script := `ip link set lo up && ip address add 10.77.0.1/32 dev lo && exec "$@"`
		out, err := exec.Command("unshare", append([]string{"--user", "--map-current-user", "--keep-caps", "--net", "sh", "-c", script, "sh"}, words...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := in("true"); err != nil {
		t.Skipf("needs an address that is not of the loopback, or user and network namespaces that this user may make, with `unshare` (util-linux) and `ip` (iproute2): %v\n%s", err, out)
	}
	if out, err := in(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v"); err != nil || !strings.Contains(out, "--- PASS: "+t.Name()) {
		t.Fatalf("in a network namespace of its own: %v\n%s", err, out)
	}
}

func TestSymmetricRun_WrongCommandLine_SaysWhat(t *testing.T) {
	m := newHost(t)
	for _, c := range []struct{ args, wait, want string }{
		{"--address=127.0.0.1:1", "", "the program has to follow behind --"},
		{"--address=127.0.0.1:1 --", "", "there is no program behind --"},
		{"-- true", "", "--address=HOST:PORT is needed"},
		{"--address=127.0.0.1 -- true", "", `"127.0.0.1" is not HOST:PORT`},
		{"--address=a:1,b:1 -- true", "", "names 2 heads, must be 1"},
		{"--address=127.0.0.1:1 --min-nodes=0 -- true", "", `--min-nodes: "0" is not a whole number`},
		{"--address=127.0.0.1:1 --head -- true", "", "--head: leave it out: --address decides"},
		{"--address=127.0.0.1:1 --port 5 -- true", "", "--port: leave it out"},
		{"--address=127.0.0.1:1 --block -- true", "", "--block: leave it out"},
		{"--address=127.0.0.1:1 --node-ip-address=1.2.3.4 -- true", "", "--node-ip-address: leave it out"},
		{"--address=127.0.0.1:1 --nun-cpus=1 -- true", "", "did you mean --num-cpus?"},
		{"--address=127.0.0.1:1 -- true", "soon", `RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT: "soon" is not a whole number of seconds`},
	} {
		t.Setenv(symmetricWaitVar, c.wait)
		status, text := m.run(append([]string{symmetricName}, strings.Fields(c.args)...)...)
		if status != 2 || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, %s", c.args, status, text)
		}
	}
	m.mustBeEmpty()
}

func TestSymmetricRun_OneNode_ProgramRunsAndItsStatusIsTheCommands(t *testing.T) {
	m := newHost(t)
	address := "127.0.0.1:" + freePort(t)
	t.Setenv("EAGLERAY_ADDRESS", "elsewhere")
	status, text := m.goSymmetric("--address="+address, "--", "sh", "-c",
		"echo at $RAY_ADDRESS in $EAGLERAY_TMPDIR not $EAGLERAY_ADDRESS; ls "+m.base()+"; exit 7").end(t)
	if status != 7 || !strings.Contains(text, "at "+address+" in "+m.tmp+" not\n") || !strings.Contains(text, "current") {
		t.Errorf("status %d\n%s", status, text)
	}
	m.mustBeEmpty()
	status, text = m.goSymmetric("--address="+address, "--", "no-such-program-anywhere").end(t)
	if status != 1 || !strings.Contains(text, "start the program: ") {
		t.Errorf("no such program: status %d\n%s", status, text)
	}
	m.mustBeEmpty()
}

func TestSymmetricRun_TwoMachines_ProgramRunsOnceAndBothEnd(t *testing.T) {
	withOuterAddress(t, func(ip string) { runsOnTwoMachines(t, ip) })
}

func runsOnTwoMachines(t *testing.T, ip string) {
	a, b, port := newHost(t), newHost(t), freePort(t)
	token := filepath.Join(a.tmp, "token")
	if err := os.WriteFile(token, []byte("a token that both machines have"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--token-file=" + token, "--min-nodes=2", "--state-dir=" + filepath.Join(a.tmp, "state")}
	program := []string{"--", "sh", "-c", "echo here >>" + filepath.Join(a.tmp, "runs")}
	follower := b.goSymmetric(append(append(flags, "--address=127.0.0.1:"+port), program...)...) // comes first, and waits for the head
	leader := a.goSymmetric(append(append(flags, fmt.Sprintf("--address=%s:%s", ip, port)), program...)...)
	if status, text := leader.end(t); status != 0 || !strings.Contains(text, "the head runs on this machine") {
		t.Errorf("the head's machine: status %d\n%s", status, text)
	}
	if status, text := follower.end(t); status != 0 || !strings.Contains(text, "the program has ended") {
		t.Errorf("the other machine: status %d\n%s", status, text)
	}
	if runs, err := os.ReadFile(filepath.Join(a.tmp, "runs")); string(runs) != "here\n" {
		t.Errorf("the program has run: %q, %v", runs, err)
	}
	a.mustBeEmpty()
	b.mustBeEmpty()
}

func TestSymmetricRun_OthersDoNotCome_EndsWithNothingLeft(t *testing.T) {
	withOuterAddress(t, func(ip string) { endsAlone(t, ip) })
}

func endsAlone(t *testing.T, ip string) {
	m := newHost(t)
	t.Setenv(symmetricWaitVar, "1")
	address := ip + ":" + freePort(t)
	status, text := m.goSymmetric("--address="+address, "--min-nodes=2", "--", "true").end(t)
	if status != 1 || !strings.Contains(text, "1 of 2 nodes are there after 1s") {
		t.Errorf("no second node: status %d\n%s", status, text)
	}
	m.mustBeEmpty()
	status, text = m.goSymmetric("--address=127.0.0.1:1", "--min-nodes=2", "--", "true").end(t)
	if status != 1 || !strings.Contains(text, "no head answers at 127.0.0.1:1 after 1s") {
		t.Errorf("no head: status %d\n%s", status, text)
	}
	m.mustBeEmpty()
}

func TestSymmetricRun_NodeRunsHereAlready_IsRefused(t *testing.T) {
	m := newHost(t)
	m.head()
	status, text := m.goSymmetric("--address=127.0.0.1:1", "--", "true").end(t)
	if status != 1 || !strings.Contains(text, "a node runs on this machine already (session "+m.base()) {
		t.Errorf("status %d\n%s", status, text)
	}
}

func TestSymmetricRun_Signal_GoesToTheProgramAndEndsTheNode(t *testing.T) {
	m := newHost(t)
	fifo, began := filepath.Join(m.tmp, "began"), make(chan error, 1)
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := os.ReadFile(fifo) // returns when the program has opened and closed it
		began <- err
	}()
	r := m.goSymmetric("--address=127.0.0.1:"+freePort(t), "--", "sh", "-c", "echo >"+fifo+"; exec sleep 1000")
	select {
	case err := <-began:
		if err != nil {
			t.Fatal(err)
		}
	case <-r.done:
		t.Fatalf("the command has ended: %s", r.text.String())
	case <-time.After(time.Minute):
		t.Fatal("the program does not begin")
	}
	if err := unix.Kill(os.Getpid(), unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status, text := r.end(t); status != 128+int(unix.SIGTERM) {
		t.Errorf("status %d\n%s", status, text)
	}
	m.mustBeEmpty()
}

func TestSymmetricRun_TokenInTheEnvironment_IsNotForTheProgram(t *testing.T) {
	t.Setenv("RAY_AUTH_TOKEN", "secret")
	t.Setenv("OF_THE_PROGRAM", "1")
	got := (&symmetric{address: "10.0.0.1:6379"}).programEnv()
	if slices.Contains(got, "RAY_AUTH_TOKEN=secret") || !slices.Contains(got, "OF_THE_PROGRAM=1") || !slices.Contains(got, "RAY_ADDRESS=10.0.0.1:6379") {
		t.Errorf("the program gets %q", got)
	}
}
