package system

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A lock is released by a defer: what runs under the lock may panic and be recovered further out, and a lock that is still
// held then stops the daemon, or hangs the program's next call. A function may release a lock that its
// caller holds, for as long as it sleeps or asks somebody, if a defer takes the lock back at
// once: the caller releases the lock again.

// sleeping are the functions that give up a lock for one system call and take it back by hand. Every wait of every
// process passes through them: deferred Locks there cost each end of a task half a microsecond (measured between other
// work). Nothing of a handler runs between.
var sleeping = []string{"core/internal/transport/conn.go: receive", "core/internal/transport/poller.go: await"}

// withLocks returns the Go files of this repository, by package, of those packages that release a lock.
func withLocks(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for _, root := range []string{"cmd", "core", "kernels", "pybind", "raftstate"} {
		err := filepath.WalkDir("../../"+root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				text, bad := os.ReadFile(path)
				if bad != nil {
					return bad
				}
				if dir := strings.TrimPrefix(filepath.Dir(path), "../../"); strings.Contains(string(text), "nlock()") {
					all[dir] = append(all[dir], path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestLocks_AreReleasedByDefer(t *testing.T) {
	all := withLocks(t)
	for _, dir := range []string{"core/internal/client", "core/internal/daemon", "core/internal/transport", "core/internal/wire", "pybind/hot", "raftstate"} {
		if len(all[dir]) == 0 {
			t.Errorf("no lock was found in %s: the test looks at nothing", dir)
		}
	}
	found := map[string]bool{}
	for _, files := range all {
		for _, path := range files {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			safe := releasedSafely(file)
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if name := strings.TrimPrefix(path, "../../") + ": " + declared(f); ok && slices.Contains(sleeping, name) {
					found[name] = true
					takenBackByHand(f.Body, safe)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || f.Sel.Name != "Unlock" && f.Sel.Name != "RUnlock" {
					return true
				}
				if !safe[call] {
					t.Errorf("%s releases a lock by hand: a function with a defer does it", set.Position(call.Pos()))
				}
				return true
			})
		}
	}
	for _, name := range sleeping {
		if !found[name] {
			t.Errorf("%s does not exist: take it out of sleeping", name)
		}
	}
}

// declared returns the name of a function, "" for nil.
func declared(f *ast.FuncDecl) string {
	if f == nil {
		return ""
	}
	return f.Name.Name
}

// takenBackByHand marks the releases in the statements of a function that a later one of these statements undoes. No
// statement between them may leave the function.
func takenBackByHand(body *ast.BlockStmt, safe map[*ast.CallExpr]bool) {
	called := func(s ast.Stmt) *ast.CallExpr {
		if x, ok := s.(*ast.ExprStmt); ok {
			call, _ := x.X.(*ast.CallExpr)
			return call
		}
		return nil
	}
	for i, s := range body.List {
		release := called(s)
		if release == nil {
			continue
		}
		for _, later := range body.List[i+1:] {
			leaves := false
			ast.Inspect(later, func(n ast.Node) bool {
				_, returns := n.(*ast.ReturnStmt)
				leaves = leaves || returns
				return true
			})
			if leaves {
				break
			}
			if take := called(later); take != nil && takesBack(release, take) {
				safe[release] = true
				break
			}
		}
	}
}

// releasedSafely returns the calls that release a lock by a defer, and those after which the
// next statement is a defer that takes the same lock back.
func releasedSafely(file *ast.File) map[*ast.CallExpr]bool {
	safe := map[*ast.CallExpr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.DeferStmt:
			safe[x.Call] = true
		case *ast.BlockStmt:
			for i, s := range x.List[:max(0, len(x.List)-1)] {
				release, ok := s.(*ast.ExprStmt)
				if !ok {
					continue
				}
				call, ok := release.X.(*ast.CallExpr)
				if !ok {
					continue
				}
				if back, ok := x.List[i+1].(*ast.DeferStmt); ok && takesBack(call, back.Call) {
					safe[call] = true
				}
			}
		}
		return true
	})
	return safe
}

// takesBack reports whether the second call takes the lock that the first one releases.
func takesBack(release, take *ast.CallExpr) bool {
	r, ok := release.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	k, ok := take.Fun.(*ast.SelectorExpr)
	return ok && strings.Replace(r.Sel.Name, "Unlock", "Lock", 1) == k.Sel.Name && types.ExprString(r.X) == types.ExprString(k.X)
}

// A lock that is given up for a system call is taken back on every way.
func TestTakenBackByHand_EachWay(t *testing.T) {
	for body, safe := range map[string]bool{
		"mu.Unlock(); work(); mu.Lock()":                   true,
		"mu.Unlock(); if on { work() }; mu.Lock(); return": true,
		"mu.Unlock(); work()":                              false,
		"mu.Unlock(); a.mu.Lock()":                         false,
		"mu.Unlock(); if work() { return }; mu.Lock()":     false,
		"mu.Unlock(); return":                              false,
		"mu.Unlock(); if work() { mu.Lock() }":             false,
		"mu.RUnlock(); work(); mu.Lock()":                  false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "f.go", "package p; func f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		marked := map[*ast.CallExpr]bool{}
		takenBackByHand(file.Decls[0].(*ast.FuncDecl).Body, marked)
		if (len(marked) > 0) != safe {
			t.Errorf("%s: taken for safe: %v", body, len(marked) > 0)
		}
	}
}

// The rule finds each way to release a lock by hand, and takes none for safe that a panic would leave held.
func TestReleasedSafely_EachWay(t *testing.T) {
	for body, safe := range map[string]bool{
		"mu.Lock(); defer mu.Unlock(); work()":                      true,
		"mu.RLock(); defer mu.RUnlock(); work()":                    true,
		"mu.Unlock(); defer mu.Lock(); work()":                      true,
		"a.mu.Unlock(); defer a.mu.Lock(); work()":                  true,
		"mu.Lock(); work(); mu.Unlock()":                            false,
		"mu.Unlock(); work(); mu.Lock()":                            false,
		"mu.Unlock(); work(); defer mu.Lock()":                      false,
		"a.mu.Unlock(); defer b.mu.Lock(); work()":                  false,
		"mu.RUnlock(); defer mu.Lock(); work()":                     false,
		"mu.Lock(); if work() { mu.Unlock(); return }; mu.Unlock()": false,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "f.go", "package p; func f() { "+body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		marked := releasedSafely(file)
		all := true
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(f.Sel.Name, "Unlock") && !marked[call] {
					all = false
				}
			}
			return true
		})
		if all != safe {
			t.Errorf("%s: taken for safe: %v", body, all)
		}
	}
}
