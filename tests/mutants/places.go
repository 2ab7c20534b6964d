package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// place is one change that can be made to one file.
type place struct {
	file       string // path of the file
	line       int
	what       string // what the change does, for the report
	start, end int    // the bytes that are replaced
	text       string // what replaces them
}

func (p place) String() string { return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.what) }

// apply gives the source with the change made.
func (p place) apply(source []byte) []byte {
	return slices.Concat(source[:p.start], []byte(p.text), source[p.end:])
}

// swapped gives for each operator the one that replaces it.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
}

// quiet names packages and variables whose calls change nothing that a test
// of behaviour could see: logging, tracing and bugs that are compiled away.
var quiet = []string{"log", "logger", "planted", "slog", "trace"}

// placesOf lists the changes that can be made to the sources of a package,
// in the order of files and positions. Tests, generated files and files for
// other systems are left out.
func placesOf(dir string) ([]place, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list sources of %s: %w", dir, err)
	}
	var found []place
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		places, err := placesIn(name, source)
		if err != nil {
			return nil, err
		}
		found = append(found, places...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no place that can be changed", dir)
	}
	return found, nil
}

// placesIn lists the changes that can be made to one file.
func placesIn(name string, source []byte) ([]place, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse source: %w", err)
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	f := &finder{name: name, source: source, fset: fset, file: file}
	ast.Inspect(file, f.visit)
	slices.SortStableFunc(f.found, func(a, b place) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	return f.found, nil
}

// finder collects the places of one file.
type finder struct {
	name   string
	source []byte
	fset   *token.FileSet
	file   *ast.File
	found  []place
}

func (f *finder) offset(pos token.Pos) int { return f.fset.Position(pos).Offset }

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) add(from, to token.Pos, text, what string) {
	f.found = append(f.found, place{
		file: f.name, line: f.fset.Position(from).Line, what: what,
		start: f.offset(from), end: f.offset(to), text: text,
	})
}

// visit notes what can be changed at one node, and says whether to look at
// the nodes below it.
func (f *finder) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.GenDecl:
		// Bounds and pauses that a package chooses for itself: a test that
		// held one to the number would only repeat it.
		return n.Tok == token.VAR && !f.outside(n)
	case *ast.IfStmt:
		if mentions(n.Cond, quiet) {
			return false // a bug on purpose, or only the log
		}
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BinaryExpr:
		if other, ok := swapped[n.Op]; ok {
			f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String(), fmt.Sprintf("%s becomes %s", n.Op, other))
		}
	case *ast.BasicLit:
		f.shift(n)
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok || mentions(call.Fun, append([]string{"panic"}, quiet...)) {
			return false
		}
		f.skip(n)
	case *ast.DeferStmt, *ast.GoStmt, *ast.IncDecStmt:
		f.skip(n.(ast.Stmt))
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE || n.Tok == token.BREAK {
			f.skip(n)
		}
	case *ast.AssignStmt:
		f.drop(n)
	case *ast.ReturnStmt:
		f.turn(n)
	case *ast.CallExpr:
		return !f.makes(n)
	case *ast.ArrayType:
		return n.Len == nil // an array may be longer than it needs to be
	case *ast.UnaryExpr:
		_, number := n.X.(*ast.BasicLit)
		return n.Op != token.SUB || !number // -1 and -2 both stand for none
	}
	return true
}

// outside says whether a declaration stands outside of all functions.
func (f *finder) outside(n *ast.GenDecl) bool {
	for _, d := range f.file.Decls {
		if d == n {
			return true
		}
	}
	return false
}

func (f *finder) negate(cond ast.Expr) {
	f.add(cond.Pos(), cond.End(), "!("+f.text(cond)+")", "condition negated: "+short(f.text(cond)))
}

// shift adds one to a whole number.
func (f *finder) shift(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	value, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil {
		return // larger than a change by one makes sense for
	}
	f.add(n.Pos(), n.End(), strconv.FormatInt(value+1, 10), fmt.Sprintf("%s becomes %d", n.Value, value+1))
}

func (f *finder) skip(n ast.Stmt) {
	f.add(n.Pos(), n.End(), "{}", "skipped: "+short(f.text(n)))
}

// drop leaves an assignment out and keeps the evaluation of its value.
func (f *finder) drop(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE || len(n.Lhs) != len(n.Rhs) {
		return
	}
	values := make([]string, len(n.Rhs))
	blanks := make([]string, len(n.Rhs))
	for i, value := range n.Rhs {
		if name, ok := n.Lhs[i].(*ast.Ident); ok && name.Name == "_" {
			return // nothing is assigned
		}
		values[i], blanks[i] = f.text(value), "_"
	}
	text := strings.Join(blanks, ", ") + " = " + strings.Join(values, ", ")
	f.add(n.Pos(), n.End(), text, "assignment dropped: "+short(f.text(n)))
}

// turn returns the opposite of a constant truth value.
func (f *finder) turn(n *ast.ReturnStmt) {
	opposite := map[string]string{"true": "false", "false": "true"}
	for _, result := range n.Results {
		if name, ok := result.(*ast.Ident); ok && opposite[name.Name] != "" {
			f.add(name.Pos(), name.End(), opposite[name.Name], fmt.Sprintf("returns %s for %s", opposite[name.Name], name.Name))
		}
	}
}

// makes says whether a call makes room ahead for values, as Grow does, make
// with a capacity, and make for a map: how much is of no consequence for what
// the program does.
func (f *finder) makes(n *ast.CallExpr) bool {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		if fun.Name != "make" {
			return false
		}
		_, isMap := n.Args[0].(*ast.MapType)
		return isMap || len(n.Args) != 2
	case *ast.SelectorExpr:
		return fun.Sel.Name == "Grow" || fun.Sel.Name == "Clip"
	}
	return false
}

// mentions says whether a name occurs in an expression.
func mentions(n ast.Expr, names []string) bool {
	found := false
	ast.Inspect(n, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok && slices.Contains(names, name.Name) {
			found = true
		}
		return !found
	})
	return found
}

// short gives the first line of a text, cut when it is long.
func short(text string) string {
	line, _, cut := strings.Cut(text, "\n")
	if len(line) > 70 {
		line, cut = line[:70], true
	}
	if cut {
		line += " …"
	}
	return line
}
