package packages

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eagleray/eagleray/core/internal/wire"
)

// pathVariables are lists of folders in which interpreters look for modules. The second one is what users see: it begins with "=" unless it is empty.
var pathVariables = []string{"PYTHONPATH", "EAGLERAY_DRIVER_PYTHONPATH"}

// relocate returns an environment whose paths lead to packages of this node. At has the folder of each package, "" for a package that stays where it is.
func relocate(e *wire.EnvSpec, at []string, node uint32) *wire.EnvSpec {
	x := *e
	x.Packages = slices.Clone(e.Packages)
	m := moves{}
	for i := range x.Packages {
		p := &x.Packages[i]
		if at[i] == "" {
			continue
		}
		if p.Module && p.Path == e.Python { // the Go program of the workers
			p.Path = filepath.Join(at[i], filepath.Base(p.Path))
			x.Python = p.Path
		} else if p.Module {
			m.modules = append(m.modules, move{filepath.Dir(p.Path), at[i]})
			p.Path = filepath.Join(at[i], filepath.Base(p.Path))
		} else {
			m.folders = append(m.folders, move{p.Path, at[i]})
			p.Path = at[i]
		}
		p.Node = node
	}
	x.Cwd = m.folder(e.Cwd)
	x.SysPath = m.paths(e.SysPath)
	x.Env, x.JobEnv = m.variables(e.Env), m.variables(e.JobEnv)
	return &x
}

// move is a folder and where its copy is.
type move struct{ from, to string }

// moves are the folders of an environment that lie elsewhere on this node.
type moves struct {
	folders []move // with all that is in them
	modules []move // only modules in them
}

// folder returns where a path leads on this node. A path that is not in a package, or was not packed, stays.
func (m *moves) folder(path string) string {
	for _, f := range m.folders {
		if path == f.from {
			return f.to
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(f.from, "/")+"/"); ok {
			if there := filepath.Join(f.to, rest); isFolder(there) {
				return there
			}
		}
	}
	return path
}

// paths returns a list of folders for modules. The copies of modules come before the folder in which they were, which other modules may be in.
func (m *moves) paths(list []string) (made []string) {
	for _, path := range list {
		known := false
		for _, f := range m.modules {
			if f.from == path {
				known = true
				if !slices.Contains(made, f.to) {
					made = append(made, f.to)
				}
			}
		}
		if there := m.folder(path); !known || there != path || isFolder(path) {
			made = append(made, there)
		}
	}
	return made
}

// variables returns variables in which lists of folders for modules are those of this node.
func (m *moves) variables(all map[string]string) map[string]string {
	made := maps.Clone(all)
	for _, name := range pathVariables {
		if text, ok := all[name]; ok && text != "" {
			list, seen := strings.CutPrefix(text, "=")
			list = strings.Join(m.paths(filepath.SplitList(list)), string(os.PathListSeparator))
			if seen {
				list = "=" + list
			}
			made[name] = list
		}
	}
	return made
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
