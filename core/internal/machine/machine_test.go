package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// tree writes files into a fresh root.
func tree(t *testing.T, files map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Machine{Root: root}
}

const (
	v2Mount  = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1Mounts = "32 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n" +
		"33 30 0:28 / /sys/fs/cgroup/memory rw shared:6 - cgroup cgroup rw,memory\n"
	v1Docker = "32 30 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n" +
		"33 30 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
	v1Self  = "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/docker/abc\n"
	eight   = "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-3,8-11\n"
	meminfo = "MemTotal:       16777216 kB\nMemFree:         1000 kB\nMemAvailable:    8388608 kB\n"
	gib     = 1 << 30
)

func TestMachine_Limits_SmallestCounts(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		cpus   int
		memory uint64
		avail  uint64
	}{
		"no cgroup": {map[string]string{}, 8, 16 * gib, 8 * gib},
		"version 2, unlimited": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n",
		}, 8, 16 * gib, 8 * gib},
		"version 2, quota 2.5 and 4 GiB": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/a/b/cpu.max": "250000 100000\n", "sys/fs/cgroup/a/b/memory.max": "4294967296\n",
			"sys/fs/cgroup/a/b/memory.current": "3221225472\n", "sys/fs/cgroup/a/b/memory.stat": "anon 5\ninactive_file 1073741824\n",
		}, 2, 4 * gib, 2 * gib},
		"version 2, the parent is tighter": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2Mount,
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000\n", "sys/fs/cgroup/a/cpu.max": "150000 50000\n",
			"sys/fs/cgroup/a/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.current": "4294967296",
		}, 3, 2 * gib, 0},
		"version 2, less than one CPU": {map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount, "sys/fs/cgroup/cpu.max": "50000 100000\n",
		}, 1, 16 * gib, 8 * gib},
		"version 1": {map[string]string{
			"proc/self/cgroup": v1Self, "proc/self/mountinfo": v1Mounts,
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us":      "300000\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us":     "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":                 "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":                "100000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":                 "9223372036854771712\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes":      "1073741824\n",
			"sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes":      "805306368\n",
			"sys/fs/cgroup/memory/docker/abc/memory.stat":                "inactive_file 1\ntotal_inactive_file 268435456\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":                 "1\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/unrelated/cpu.max":     "1 100000\n",
			"sys/fs/cgroup/unified/cpu.max":                              "1 100000\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/other/cpu.cfs_quota_us":    "1\n",
			"sys/fs/cgroup/memory/docker/other/memory.limit_in_bytes":    "1\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/other/cpu.cfs_period_us":   "100000\n",
			"sys/fs/cgroup/memory/docker/abc/below/memory.stat":          "inactive_file 77\n",
			"sys/fs/cgroup/memory/docker/abc/below/memory.limit_in_byte": "77\n",
		}, 3, gib, gib / 2},
		"version 1 bind-mounted in a container": {map[string]string{
			"proc/self/cgroup": v1Self, "proc/self/mountinfo": v1Docker,
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "400000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n",
		}, 4, 2 * gib, 8 * gib},
		"group outside of what is mounted": {map[string]string{
			"proc/self/cgroup":      "0::/../../kubepods/pod1\n",
			"proc/self/mountinfo":   "30 23 0:26 /kubepods/pod2 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cpu.max": "600000 100000\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 6, gib, 8 * gib},
		"group above the namespace's root": {map[string]string{
			"proc/self/cgroup": "0::/../x\n", "proc/self/mountinfo": v2Mount, "sys/fs/cgroup/cpu.max": "500000 100000\n",
		}, 5, 16 * gib, 8 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			c.files["proc/self/status"] = eight
			c.files["proc/meminfo"] = meminfo
			m := tree(t, c.files)
			if got := m.CPUs(); got != c.cpus {
				t.Errorf("CPUs %d, want %d", got, c.cpus)
			}
			if got := m.Memory(); got != c.memory {
				t.Errorf("memory %d, want %d", got, c.memory)
			}
			if got := m.MemoryAvailable(); got != c.avail {
				t.Errorf("available %d, want %d", got, c.avail)
			}
		})
	}
}

func TestMachine_UnreadableFiles_FallBack(t *testing.T) {
	if got := (Machine{Root: t.TempDir()}).CPUs(); got != runtime.NumCPU() {
		t.Errorf("CPUs %d without /proc, want %d", got, runtime.NumCPU())
	}
	for list, want := range map[string]int{"0": 1, "0-3,8": 5, "": 0, "x": 0, "3-1": 0, "0-": 0} {
		if got := countList(list); got != want {
			t.Errorf("countList(%q) = %d, want %d", list, got, want)
		}
	}
}

func TestHere_ThisMachine_Plausible(t *testing.T) {
	m := Here()
	if c := m.CPUs(); c < 1 || c > runtime.NumCPU() {
		t.Errorf("CPUs %d of %d", c, runtime.NumCPU())
	}
	if mem, avail := m.Memory(), m.MemoryAvailable(); mem < 64<<20 || avail > mem {
		t.Errorf("memory %d, available %d", mem, avail)
	}
}
