package core_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/eagleray/eagleray/core"
)

// machine stands for a machine with a head and a node: it has a folder for sessions of its own.
type machine struct {
	base string
	dir  string // of the session
}

func (m *machine) eagleray(words ...string) *exec.Cmd {
	cmd := exec.Command(binary, words...)
	cmd.Env = append(os.Environ(), "EAGLERAY_TMPDIR="+m.base)
	return cmd
}

// threeHeads starts a cluster in which three heads vote.
func threeHeads(t *testing.T) (list []*machine) {
	t.Helper()
	var join []string
	for i := range 3 {
		base, err := os.MkdirTemp("", "er")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(base) })
		m := &machine{base: base}
		words := append([]string{"start", "--head", "--port=0", "--num-cpus=1", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000", fmt.Sprint("--node-name=", i)}, join...)
		out, err := m.eagleray(words...).CombinedOutput()
		if err != nil {
			t.Fatalf("start: %v\n%s", err, out)
		}
		t.Cleanup(func() {
			if out, err := m.eagleray("stop").CombinedOutput(); err != nil {
				t.Errorf("stop: %v\n%s", err, out)
			}
		})
		if join == nil {
			found := regexp.MustCompile(`--address='(\S+)' (--token-file=\S+)`).FindSubmatch(out)
			if found == nil {
				t.Fatalf("it does not say how others join:\n%s", out)
			}
			join = []string{"--address=" + string(found[1]), string(found[2])}
		}
		now, err := os.ReadFile(filepath.Join(base, fmt.Sprintf("eagleray-%d", os.Getuid()), "current"))
		if err != nil {
			t.Fatal(err)
		}
		m.dir = strings.TrimSpace(string(now))
		list = append(list, m)
	}
	return list
}

// heads is what `eagleray heads list` says of them.
func heads(t *testing.T, m *machine) (rows []struct {
	Number  int
	Role    string
	Healthy bool
}) {
	t.Helper()
	out, err := m.eagleray("heads", "list", "--json").Output()
	if err != nil {
		t.Fatalf("heads list: %v\n%s", err, out)
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return rows
}

// leads returns the machine whose head leads, when three heads vote and are healthy.
func leads(t *testing.T, list []*machine) *machine {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		leader, voters := -1, 0
		for _, h := range heads(t, list[0]) {
			if h.Healthy && h.Role != "standby" {
				voters++
			}
			if h.Role == "leader" {
				leader = h.Number
			}
		}
		if voters < 3 || leader < 0 {
			continue
		}
		for _, m := range list {
			var known struct{ Identity string }
			b, err := os.ReadFile(filepath.Join(m.dir, "state", "head.json"))
			if err == nil {
				err = json.Unmarshal(b, &known)
			}
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(known.Identity, fmt.Sprint("/", leader)) {
				return m
			}
		}
	}
	t.Fatalf("the three heads are not healthy: %+v", heads(t, list[0]))
	return nil
}

// Of three heads the one that leads is killed, three times. Another one leads at once, and the programs on all three machines go on.
func TestKV_LeadersOfThreeAreKilled_WatchAndLeaseGoOn(t *testing.T) {
	list := threeHeads(t)
	var kvs []*core.KV
	ctx, s := join(t, core.Options{Address: list[0].dir})
	kvs = append(kvs, s.KV())
	for _, m := range list[1:] {
		_, s := join(t, core.Options{Address: m.dir})
		kvs = append(kvs, s.KV())
	}
	goesOn(t, ctx, kvs[0], kvs[1], kvs[2], func() {
		for range 3 {
			if err := syscall.Kill(servingHead(t, ctx, leads(t, list).dir, 0), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			awaitCount(t, ctx, kvs[1])
		}
	})
}
