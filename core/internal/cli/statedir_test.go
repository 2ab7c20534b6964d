package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/headprocess"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestStateDirOf_FlagThenVariables(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flag, ours, rays string
		want             headprocess.StateDir
	}{
		{want: headprocess.StateDir{}},
		{rays: "/r", want: headprocess.StateDir{Path: "/r", From: "RAY_gcs_storage_path"}},
		{ours: "/o", rays: "/r", want: headprocess.StateDir{Path: "/o", From: "EAGLERAY_gcs_storage_path"}},
		{flag: "/f", ours: "/o", want: headprocess.StateDir{Path: "/f", From: "--state-dir"}},
		{flag: "f", want: headprocess.StateDir{Path: filepath.Join(here, "f"), From: "--state-dir"}},
	} {
		t.Setenv("EAGLERAY_"+storagePathVar, c.ours)
		t.Setenv("RAY_"+storagePathVar, c.rays)
		flags := map[string]string{}
		if c.flag != "" {
			flags[stateFlag] = c.flag
		}
		if got, err := stateDirOf(flags); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
}

// ask asks the daemon of the head's node, which asks the head.
func (m *host) ask(t wire.Type, question, answer any) error {
	m.t.Helper()
	c, err := dialCluster(startedBelow(m.base())[0].dir)
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	return c.peer.Call(ctx, t, question, answer)
}

// kept returns what is stored under a key, nil for nothing.
func (m *host) kept(key string) (value []byte) {
	m.t.Helper()
	if err := m.ask(wire.TKVGet, &wire.KVKey{Key: []byte(key)}, &value); err != nil {
		m.t.Fatal(err)
	}
	return value
}

// The cluster goes on with its state after `stop`, and after all processes of the head's machine were killed: numbers, key-values,
// certificates and nodes of other machines. Nodes that are gone are dead, and no number is given twice.
func TestStart_StateDir_TheNextHeadGoesOn(t *testing.T) {
	a, b, c := newHost(t), newHost(t), newHost(t)
	dir := filepath.Join(t.TempDir(), "state")
	address, token := a.head("--state-dir=" + dir)
	join := func(m *host, name string) string {
		t.Helper()
		return m.mustRun(small("--address="+address, "--token-file="+token, "--node-name="+name)...)
	}
	join(b, "second")
	join(c, "third")
	var added bool
	if err := a.ask(wire.TKVPut, &wire.KVPut{Key: []byte("k"), Value: []byte("v"), Overwrite: true}, &added); err != nil {
		t.Fatal(err)
	}
	a.mustRun("stop")
	_, port, _ := strings.Cut(address, ":")
	again := small("--head", "--port="+port, "--node-ip-address=127.0.0.1", "--node-name=next", "--state-dir="+dir)
	if text := a.mustRun(again...); !strings.Contains(text, "  state      "+dir+" (goes on with the cluster that was kept there)\n") {
		t.Errorf("start says\n%s", text)
	}
	text := a.mustRun("status")
	if !regexp.MustCompile(`dead head  \w{8}  first `).MatchString(text) {
		t.Errorf("the node of the former head is not dead at once in\n%s", text)
	}
	for _, m := range []*host{a, b} {
		m.awaitStatus(`(?s)alive node  \w{8}  second .*alive node  \w{8}  third .*alive head  \w{8}  next `)
	}
	if got := a.kept("k"); string(got) != "v" {
		t.Errorf("the key-value is %q", got)
	}
	if text := join(b, "fifth"); !strings.Contains(text, "node 5 of the cluster") {
		t.Errorf("after four nodes a new one says\n%s", text)
	}

	// The machines of the head and of the third node stop, and the head comes back.
	for _, m := range []*host{c, a} {
		for _, node := range startedBelow(m.base()) {
			pids := []int{node.warden, process.PidOf(node.dir, process.HeadPid), process.PidOf(node.dir, process.DaemonPid)}
			node.kill()
			for _, pid := range pids {
				if pid != 0 && !waitEnd(pid, 20*time.Second) {
					t.Fatalf("process %d does not end", pid)
				}
			}
		}
	}
	a.mustRun(again...)
	head := startedBelow(a.base())[0]
	if err := unix.Kill(process.PidOf(head.dir, process.HeadPid), unix.SIGKILL); err != nil { // its successor judges the nodes as well
		t.Fatal(err)
	}
	text = a.awaitStatus(`dead node  \w{8}  third `)
	for _, alive := range []string{`alive node  \w{8}  second `, `alive head  \w{8}  next `, `alive node  \w{8}  fifth `} {
		if n := len(regexp.MustCompile(alive).FindAllString(text, -1)); n != 1 {
			t.Errorf("%d times %s in\n%s", n, alive, text)
		}
	}
	logged, err := os.ReadFile(filepath.Join(head.dir, headprocess.LogName))
	if err != nil || !strings.Contains(string(logged), "nothing was heard from it for 10s") {
		t.Errorf("the log of the head does not say why the third node is dead (%v):\n%s", err, logged)
	}
	if got := a.kept("k"); string(got) != "v" {
		t.Errorf("after the kill the key-value is %q", got)
	}
}

// A head says which folder it cannot use and why, and leaves nothing behind.
func TestStart_StateDirInUseDamagedOrOfAnotherToken_SaysSo(t *testing.T) {
	a, b := newHost(t), newHost(t)
	dir := filepath.Join(t.TempDir(), "state")
	_, token := a.head("--state-dir=" + dir)
	same := small("--head", "--port=0", "--node-ip-address=127.0.0.1", "--token-file="+token)
	says := func(text string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("no %q in\n%s", w, text)
			}
		}
	}
	head := process.PidOf(startedBelow(a.base())[0].dir, process.HeadPid)
	says(b.within(failLimit, 2, append(same, "--state-dir="+dir)...), "--state-dir: open state directory "+dir, "is in use", fmt.Sprintf("process id %d.", head))
	a.mustRun("stop")
	says(b.within(failLimit, 2, small("--head", "--port=0", "--state-dir="+dir)...), "the cluster that is kept here has another token", "is none of those that it was sealed with")

	files, err := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no log in %s: %v", dir, err)
	}
	bytes, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	bytes[100] ^= 0xff
	if err := os.WriteFile(files[0], bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RAY_"+storagePathVar, dir)
	says(b.within(failLimit, 1, same...), "RAY_gcs_storage_path: open state directory "+dir, "is damaged", files[0])
	if now, err := os.ReadFile(files[0]); err != nil || !slices.Equal(now, bytes) {
		t.Errorf("the damaged file has changed: %v", err)
	}
}

// fullDisk is the variable that tells the test's own program to fill the folder that it names.
const fullDisk = "EAGLERAY_TEST_FULL_DISK"

// A head whose disk is full says so and ends. When there is room again, it goes on with all that it had acknowledged.
func TestHead_DiskIsFull_EndsWithATextAndComesBack(t *testing.T) {
	if dir := os.Getenv(fullDisk); dir != "" {
		fillStateDir(t, dir)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), fullDisk+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{ // a mount namespace of its own, with a small file system
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("this system has no user namespaces: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	case !strings.Contains(string(out), "--- PASS"):
		t.Fatalf("the program did nothing:\n%s", out)
	}
}

func fillStateDir(t *testing.T, dir string) {
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Fatal(err)
	}
	a := newHost(t)
	state := filepath.Join(dir, "state")
	a.head("--state-dir=" + state)
	node := startedBelow(a.base())[0]
	head := process.PidOf(node.dir, process.HeadPid)
	gone := make(chan bool, 1)
	go func() { gone <- waitEnd(head, 30*time.Second) }()
	put := func(i int) error {
		var added bool
		return a.ask(wire.TKVPut, &wire.KVPut{Key: fmt.Append(nil, i), Value: make([]byte, 60_000), Overwrite: true}, &added)
	}
	acknowledged := 0
	for put(acknowledged) == nil && acknowledged < 1000 { // the head ends, and its successors have no room either
		acknowledged++
	}
	if !<-gone || acknowledged < 10 || acknowledged == 1000 {
		t.Fatalf("the head does not end after %d changes", acknowledged)
	}
	logged, err := os.ReadFile(filepath.Join(node.dir, headprocess.LogName))
	if want := "the state directory " + state + " cannot be written, so the head stops"; err != nil || !strings.Contains(string(logged), want) || !strings.Contains(string(logged), "Make room on its disk") {
		t.Errorf("no %q in the log of the head (%v):\n%s", want, err, logged)
	}
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT, "size=60m"); err != nil {
		t.Fatal(err)
	}
	a.awaitStatus("alive head")
	for i := range acknowledged {
		if got := a.kept(fmt.Sprint(i)); len(got) != 60_000 {
			t.Errorf("key %d of %d has %d bytes", i, acknowledged, len(got))
		}
	}
}
