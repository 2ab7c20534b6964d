package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// group is a set of packages that are measured together.
type group struct {
	name     string
	packages []string
	wanted   float64 // the share of changes that its tests have to notice
}

// groups lists what is measured unless -packages chooses.
var groups = []group{
	{"pure machines", []string{
		"core/internal/alive", "core/internal/cancellation", "core/internal/frame", "core/internal/head", "core/ids", "core/internal/keyleases", "core/internal/pace", "core/internal/packing", "core/internal/place", "core/internal/progress", "core/internal/queue", "core/record", "core/internal/refs", "core/internal/resource", "core/internal/retry", "core/internal/sched", "core/internal/sites", "core/internal/snapshot", "core/internal/templates", "core/internal/wait", "core/internal/waiting", "raftstate", "raftstate/internal/actortable", "raftstate/internal/answered", "raftstate/internal/classes", "raftstate/internal/grouptable", "raftstate/internal/keyspace", "raftstate/internal/recordstream", "raftstate/internal/values",
	}, 0.9},
	{"store spill wire", []string{"core/internal/spill", "core/internal/store", "core/internal/wire"}, 0.75},
	{"client", []string{"core/internal/actors", "core/internal/arguments", "core/internal/client", "core/internal/generators", "core/internal/handover", "core/internal/leases", "core/internal/submit", "core/internal/transport"}, 0.75},
	{"daemon", []string{"core/internal/daemon", "core/internal/fdlimit", "core/internal/objects", "core/internal/pressure", "core/internal/workers"}, 0.75},
}

// chosen gives the groups with only the packages that are named in a list
// separated by commas; an empty list names all. A name is a package's folder
// or a group's name.
func chosen(names string) ([]group, error) {
	if names == "" {
		return groups, nil
	}
	var found []group
	wanted := strings.Split(names, ",")
	known := make([]bool, len(wanted))
	for _, g := range groups {
		part := group{name: g.name, wanted: g.wanted}
		for _, pkg := range g.packages {
			taken := false
			for i, name := range wanted {
				if name == pkg || name == g.name {
					known[i], taken = true, true
				}
			}
			if taken {
				part.packages = append(part.packages, pkg)
			}
		}
		if part.packages != nil {
			found = append(found, part)
		}
	}
	if i := slices.Index(known, false); i >= 0 {
		return nil, fmt.Errorf("package %q is in no group of tests/mutants/groups.go", wanted[i])
	}
	return found, nil
}

// named checks that the files and lines that a plan names are of its packages.
func (p plan) named() error {
	for _, name := range slices.Concat(p.files, p.at) {
		file, _, _ := strings.Cut(name, ":")
		has := func(g group) bool { return slices.Contains(g.packages, path.Dir(file)) }
		if !slices.ContainsFunc(p.groups, has) || !measured(file) {
			return fmt.Errorf("%q is not a source of a package that is measured; name it as core/internal/refs/table.go", name)
		}
		if _, err := os.Stat(filepath.Join(p.root, file)); err != nil {
			return fmt.Errorf("find the source: %w", err)
		}
	}
	return nil
}
