package system

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A file that uses what another file of its package declares has an arrow to it.
// When a package's files can be put in an order in which nearly all arrows run
// down, a reader begins at the bottom and needs nothing from above. This file
// holds that order for each package with enough arrows to tell.

const (
	fewArrows = 20 // a package with fewer arrows is read at once
	mostUp    = 5  // at most one arrow of so many may run back up
)

func TestArrows_WithinAPackage_RunDown(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := 0
	for _, pattern := range []string{"core/*", "core/internal/*", "kernels", "raftstate", "cmd/eagleray"} {
		folders, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range folders {
			name, err := filepath.Rel(root, folder)
			if err != nil {
				t.Fatal(err)
			}
			a := arrowsOf(sourcesIn(t, folder))
			up := a.up()
			total := a.count()
			if total < fewArrows {
				continue
			}
			seen++
			if len(up)*mostUp > total {
				t.Errorf("%s: %d of %d arrows between its files run back up: %s", name, len(up), total, strings.Join(up, ", "))
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d packages have %d arrows", seen, fewArrows)
	}
}

// sourcesIn reads the Go files of a folder that are no tests.
func sourcesIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources[filepath.Base(path)] = string(text)
	}
	return sources
}

// arrows says for each file which other files it uses.
type arrows map[string]map[string]bool

// arrowsOf finds the arrows of a package. A name behind a dot counts as that of a
// method or a field when one file alone declares such a method or field.
func arrowsOf(sources map[string]string) arrows {
	files := map[string]*ast.File{}
	names, members := map[string]string{}, map[string][]string{}
	for file, text := range sources {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			panic(err)
		}
		files[file] = parsed
		for _, d := range parsed.Decls {
			declare(d, file, names, members)
		}
	}
	found := arrows{}
	for file, parsed := range files {
		found[file] = map[string]bool{}
		use := func(other string) {
			if other != "" && other != file {
				found[file][other] = true
			}
		}
		for _, name := range parsed.Unresolved { // what the file itself does not declare
			use(names[name.Name])
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if owners := members[s.Sel.Name]; len(owners) == 1 {
					use(owners[0])
				}
			}
			return true
		})
	}
	return found
}

// declare notes the names that a declaration makes known to the package, and the
// methods and fields that it makes known.
func declare(d ast.Decl, file string, names map[string]string, members map[string][]string) {
	member := func(name string) {
		if !slices.Contains(members[name], file) {
			members[name] = append(members[name], file)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			member(d.Name.Name)
		} else if d.Name.Name != "init" {
			names[d.Name.Name] = file
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = file
				ast.Inspect(s.Type, func(n ast.Node) bool {
					if f, ok := n.(*ast.Field); ok {
						for _, name := range f.Names {
							member(name.Name)
						}
					}
					return true
				})
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names[name.Name] = file
				}
			}
		}
	}
}

// count returns how many arrows there are.
func (a arrows) count() (n int) {
	for _, others := range a {
		n += len(others)
	}
	return n
}

// up returns the arrows that run back up in an order with few of them. The order is
// found by moving one file at a time to its best place, until nothing gets better.
func (a arrows) up() (list []string) {
	order := make([]string, 0, len(a))
	for file := range a {
		order = append(order, file)
	}
	slices.Sort(order)
	for better := true; better; {
		better = false
		for _, file := range slices.Clone(order) {
			at := slices.Index(order, file)
			rest := slices.Delete(slices.Clone(order), at, at+1)
			if best, gain := a.bestPlace(file, rest, at); gain > 0 {
				order, better = slices.Insert(rest, best, file), true
			}
		}
	}
	for i, file := range order {
		for _, above := range order[i+1:] {
			if a[file][above] {
				list = append(list, fmt.Sprintf("%s → %s", file, above))
			}
		}
	}
	return list
}

// bestPlace returns where in the rest of the order a file has the fewest arrows that
// run back up from it and to it, and how many fewer they are than at its place.
func (a arrows) bestPlace(file string, rest []string, at int) (best, gain int) {
	up, least, now := 0, 0, 0 // up: compared with the lowest place
	best = 0
	for i := 0; i <= len(rest); i++ {
		if i > 0 {
			below := rest[i-1]
			if a[below][file] {
				up++ // an arrow from below to the file
			}
			if a[file][below] {
				up-- // it runs down now
			}
		}
		if up < least {
			best, least = i, up
		}
		if i == at {
			now = up
		}
	}
	return best, now - least
}

func TestArrows_Found(t *testing.T) {
	sources := map[string]string{
		"state.go": "package p\ntype T struct{ size int }\nconst most = 1\n",
		"low.go":   "package p\nfunc (t *T) grow() { t.size += most }\n",
		"high.go":  "package p\nfunc New() *T { t := &T{}; t.grow(); return t }\n",
	}
	a := arrowsOf(sources)
	if got, want := fmt.Sprint(a), "map[high.go:map[low.go:true state.go:true] low.go:map[state.go:true] state.go:map[]]"; got != want {
		t.Errorf("arrows %s, want %s", got, want)
	}
	if up := a.up(); len(up) != 0 || a.count() != 3 {
		t.Errorf("%v of %d run back up, want none of 3", up, a.count())
	}
	sources["state.go"] += "func (t *T) Reset() { *t = *New() }\n"
	if up := arrowsOf(sources).up(); !slices.Equal(up, []string{"state.go → high.go"}) {
		t.Errorf("%v run back up, want one", up)
	}
}
