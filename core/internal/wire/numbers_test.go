package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// Two messages with one number would be taken for each other: nothing else notices.
func TestNumbers_EachOnce(t *testing.T) {
	for _, name := range []string{"types.go", "data.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen, found := make(map[string]string), 0
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Type == nil || len(v.Values) != 1 {
				return true
			}
			number, ok := v.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			found++
			kind := v.Type.(*ast.Ident).Name + " " + number.Value
			if other := seen[kind]; other != "" {
				t.Errorf("%s and %s are both %s", other, v.Names[0].Name, kind)
			}
			seen[kind] = v.Names[0].Name
			return true
		})
		if found < 5 {
			t.Errorf("%s has %d numbers: is this where they are?", name, found)
		}
	}
}
