package machine

import (
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const v2Self = "0::/a/b\n"

func levelOf(t *testing.T, m Machine, name string) (Level, bool) {
	t.Helper()
	for _, l := range NewGauge(m).Levels() {
		if strings.HasSuffix(l.Name, name) {
			return l, true
		}
	}
	return Level{}, false
}

func TestLevels_AnonymousMemoryOnly(t *testing.T) {
	const mib = 1 << 20
	// 16000 kB in all; 6000 can be had; 8000 are anonymous, and 2000 taken for good (shared memory, the kernel).
	info := "MemTotal: 16000 kB\nMemFree: 1 kB\nMemAvailable: 6000 kB\nCached: 6000 kB\nShmem: 1500 kB\nAnonPages: 8000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		level string
		want  Level
	}{
		"the machine": {map[string]string{}, "the machine", Level{"", 8000 << 10, 14000 << 10}},
		"version 2": {map[string]string{
			"proc/self/cgroup": v2Self, "proc/self/mountinfo": v2Mount, "sys/fs/cgroup/a/b/memory.max": "104857600\n",
			"sys/fs/cgroup/a/b/memory.stat": "anon 31457280\nfile 73400320\nkernel 3145728\nshmem 20971520\nkernel_stack 1048576\npagetables 1048576\nslab_unreclaimable 1048576\ninactive_file 9\n",
		}, "/a/b", Level{"", 30 * mib, 77 * mib}},
		"version 2, the parent has the limit": {map[string]string{
			"proc/self/cgroup": v2Self, "proc/self/mountinfo": v2Mount, "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max": "104857600\n", "sys/fs/cgroup/a/memory.stat": "anon 1048576\nshmem 0\n",
		}, "/a", Level{"", mib, 100 * mib}},
		"version 1": {map[string]string{
			"proc/self/cgroup": v1Self, "proc/self/mountinfo": v1Mounts, "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "104857600\n",
			"sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": "104857600\n",
			"sys/fs/cgroup/memory/docker/abc/memory.stat":           "rss 1\ntotal_rss 10485760\ntotal_cache 94371840\ntotal_shmem 20971520\ntotal_inactive_file 5\n",
		}, "docker/abc", Level{"", 10 * mib, 80 * mib}},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["proc/meminfo"] = info
			m := tree(t, c.files)
			got, ok := levelOf(t, m, c.level)
			if c.want.Name = got.Name; !ok || got != c.want {
				t.Errorf("got %+v (%v), want %+v", got, ok, c.want)
			}
		})
	}
	for name, files := range map[string]map[string]string{
		"unlimited, version 1": {"proc/self/cgroup": v1Self, "proc/self/mountinfo": v1Mounts, "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/docker/abc/memory.stat": "total_rss 5\n"},
		"no memory.stat":       {"proc/self/cgroup": v2Self, "proc/self/mountinfo": v2Mount, "sys/fs/cgroup/a/b/memory.max": "5\n"},
	} {
		if ls := NewGauge(tree(t, files)).Levels(); len(ls) != 0 {
			t.Errorf("%s: levels %v", name, ls)
		}
	}
}

func TestKills_OfOurGroup_ElseOfTheMachine(t *testing.T) {
	const events = "low 0\noom 9\noom_kill 3\noom_group_kill 0\n"
	self := map[string]string{"proc/vmstat": "pgfault 7\noom_kill 2\n", "proc/self/cgroup": v2Self, "proc/self/mountinfo": v2Mount}
	with := func(name, text string) map[string]string {
		files := maps.Clone(self)
		files["sys/fs/cgroup/a/b/memory.events"] = events
		files["sys/fs/cgroup/a/"+name] = text
		return files
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"a group's events":              {with("memory.events", "oom_kill 40\n"), 3},
		"without those of groups in it": {with("b/memory.events.local", "oom_kill 1\n"), 1},
		"no group that can be read":     {self, 2},
		"nothing":                       {nil, 0},
	} {
		if n := NewGauge(tree(t, c.files)).Kills(); n != c.want {
			t.Errorf("%s: %d kills, want %d", name, n, c.want)
		}
	}
}

// What a process maps of a file or of shared memory is not its own.
func TestProcessAnon_CountsWhatItAllocates(t *testing.T) {
	program := `
import mmap, os, sys
data = bytearray(64 << 20)
fd = os.memfd_create("x")
os.ftruncate(fd, 64 << 20)
shared = mmap.mmap(fd, 64 << 20)
shared.write(bytes(1 << 20) * 64)
print("ready", flush=True)
sys.stdin.read()
`
	c := exec.Command("python3", "-c", program)
	in, err1 := c.StdinPipe()
	out, err2 := c.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := c.Start(); err != nil {
		t.Skip("no Python: ", err)
	}
	defer func() {
		in.Close()
		_ = c.Wait()
	}()
	if _, err := out.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	for _, exact := range []bool{false, true} {
		if n := ProcessAnon(c.Process.Pid, exact); n < 64<<20 || n > 100<<20 {
			t.Errorf("exact %v: %d bytes, want a little more than 64 MiB", exact, n)
		}
	}
	if s := ProcessCommand(c.Process.Pid); !strings.HasPrefix(s, "python3 -c import mmap") && !strings.Contains(s, "python3") || strings.ContainsAny(s, "\n\x00") || len(s) > maxCommand+3 {
		t.Errorf("command %q", s)
	}
	if n := ProcessAnon(1<<30, true); n != 0 {
		t.Errorf("%d bytes of a process that does not exist", n)
	}
	if ProcessCommand(os.Getpid()) == "" {
		t.Error("this process has no name")
	}
}
