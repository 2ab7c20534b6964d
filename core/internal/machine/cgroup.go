package machine

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// group is one folder of a cgroup hierarchy.
type group struct {
	m   Machine
	dir string
}

// groups returns the folders of the process's own group and of all groups
// above it, in the hierarchies that a controller can be in: its version 1
// hierarchy and the version 2 one.
func (m Machine) groups(controller string) []group {
	var gs []group
	mounts := m.mounts()
	for line := range strings.Lines(m.read("/proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // id:controllers:path
		if len(f) != 3 {
			continue
		}
		unified := f[1] == ""
		if !unified && !slices.Contains(strings.Split(f[1], ","), controller) {
			continue
		}
		for _, mt := range mounts {
			if mt.unified != unified || !unified && !slices.Contains(mt.options, controller) {
				continue
			}
			for dir := mt.locate(f[2]); ; dir = path.Dir(dir) {
				gs = append(gs, group{m, dir})
				if dir == mt.point || dir == "/" {
					break
				}
			}
		}
	}
	return gs
}

// mount is a mounted cgroup hierarchy.
type mount struct {
	root    string // the group that is seen at point
	point   string
	unified bool
	options []string // version 1: its controllers are among them
}

// mounts reads /proc/self/mountinfo:
// id parent dev root point options [optional…] - type source super-options.
func (m Machine) mounts() []mount {
	var ms []mount
	for line := range strings.Lines(m.read("/proc/self/mountinfo")) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		switch r[0] {
		case "cgroup2":
			ms = append(ms, mount{root: l[3], point: l[4], unified: true})
		case "cgroup":
			ms = append(ms, mount{root: l[3], point: l[4], options: strings.Split(r[2], ",")})
		}
	}
	return ms
}

// locate returns the folder of a group, or the mount point when the group lies
// outside of what is mounted, as it does in containers without a cgroup
// namespace of their own.
func (mt mount) locate(groupPath string) string {
	groupPath = path.Clean("/" + groupPath) // no way out of the mount by ".."
	if mt.root == "/" {
		return path.Join(mt.point, groupPath)
	}
	if rel, ok := strings.CutPrefix(groupPath, mt.root); ok && (rel == "" || rel[0] == '/') {
		return path.Join(mt.point, rel)
	}
	return mt.point
}

func (g group) read(name string) string { return g.m.read(path.Join(g.dir, name)) }

// bytes returns the first of the named files that holds a number.
func (g group) bytes(names ...string) (uint64, bool) {
	for _, name := range names {
		if n, err := strconv.ParseUint(g.read(name), 10, 64); err == nil {
			return n, true
		}
	}
	return 0, false
}

// inactiveFile returns the group's page cache that the kernel drops first.
func (g group) inactiveFile() uint64 {
	var total uint64
	for line := range strings.Lines(g.read("memory.stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "total_inactive_file": // version 1, with the groups below
			return n
		case "inactive_file":
			total = n
		}
	}
	return total
}
