package system

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// lockedWithDefer are the packages in which every lock is released by a defer. What their
// goroutines call may panic and be recovered further out: a lock that is still held then
// stops the daemon.
var lockedWithDefer = []string{"core/daemon", "core/workers", "core/objects", "core/pressure", "core/head", "core/spill", "core/store", "raftstate"}

func TestLocks_AreReleasedByDefer(t *testing.T) {
	for _, dir := range lockedWithDefer {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", dir, err)
		}
		deferred := 0
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			byDefer := map[*ast.CallExpr]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if d, ok := n.(*ast.DeferStmt); ok {
					byDefer[d.Call] = true
				}
				return true
			})
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || f.Sel.Name != "Unlock" && f.Sel.Name != "RUnlock" {
					return true
				}
				if deferred++; !byDefer[call] {
					t.Errorf("%s releases a lock by hand: a function with a defer does it", set.Position(call.Pos()))
				}
				return true
			})
		}
		if deferred == 0 {
			t.Errorf("no lock was found in %s: the test looks at nothing", dir)
		}
	}
}
