package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// opposite gives for each operator the one that replaces it.
var opposite = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
}

// quiet names packages and variables whose calls change nothing that a test
// of behaviour could see: logging, tracing and bugs that are compiled away.
var quiet = []string{"log", "logger", "planted", "slog", "trace"}

// placesOfFile lists the changes that can be made to one parsed file.
func placesOfFile(fset *token.FileSet, file *ast.File, source []byte) []place {
	if ast.IsGenerated(file) {
		return nil
	}
	f := &finder{source: source, fset: fset, file: file}
	ast.PreorderStack(file, nil, f.visit)
	slices.SortStableFunc(f.found, func(a, b place) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end)) })
	return f.found
}

// finder collects the places of one file.
type finder struct {
	source []byte
	fset   *token.FileSet
	file   *ast.File
	above  []ast.Node // the nodes above the one that is visited, the file first
	found  []place
}

func (f *finder) offset(pos token.Pos) int { return f.fset.Position(pos).Offset }

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

// add notes a change of a node: the bytes between two positions become a text.
func (f *finder) add(k kind, node ast.Node, from, to token.Pos, text, what string) {
	at := f.fset.Position(from)
	f.found = append(f.found, place{
		file: at.Filename, line: at.Line, what: what, start: at.Offset, end: f.offset(to), text: text,
		kind: k, node: node, stmt: f.stmt(node), header: f.header(node), clause: f.clause(node),
	})
}

// visit notes what can be changed at one node, and says whether to look at
// the nodes below it.
func (f *finder) visit(node ast.Node, above []ast.Node) bool {
	f.above = above
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
		if other, ok := opposite[n.Op]; ok {
			f.add(swapped, n, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String(), fmt.Sprintf("%s becomes %s", n.Op, other))
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
	f.add(negated, cond, cond.Pos(), cond.End(), "!("+f.text(cond)+")", "condition negated: "+short(f.text(cond)))
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
	f.add(shifted, n, n.Pos(), n.End(), strconv.FormatInt(value+1, 10), fmt.Sprintf("%s becomes %d", n.Value, value+1))
}

// skip leaves a statement out. What it uses is still used as the compiler sees it.
func (f *finder) skip(n ast.Stmt) {
	text := "if false { " + f.text(n) + " }"
	if f.header(n) {
		text = ""
	}
	f.add(skipped, n, n.Pos(), n.End(), text, "skipped: "+short(f.text(n)))
}

// drop leaves an assignment out and keeps the evaluation of its value.
func (f *finder) drop(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE || len(n.Lhs) != len(n.Rhs) {
		return
	}
	var values, blanks []string
	for i, value := range n.Rhs {
		if name, ok := n.Lhs[i].(*ast.Ident); ok && name.Name == "_" {
			return // nothing is assigned
		}
		if name, ok := value.(*ast.Ident); ok && name.Name == "nil" {
			continue // it has no type by itself, and there is nothing to evaluate
		}
		values, blanks = append(values, f.text(value)), append(blanks, "_")
	}
	text := strings.Join(blanks, ", ") + " = " + strings.Join(values, ", ")
	if values == nil && f.header(n) {
		text = ""
	} else if values == nil {
		text = "{}"
	}
	f.add(dropped, n, n.Pos(), n.End(), text, "assignment dropped: "+short(f.text(n)))
}

// turn returns the opposite of a constant truth value.
func (f *finder) turn(n *ast.ReturnStmt) {
	other := map[string]string{"true": "false", "false": "true"}
	for _, result := range n.Results {
		if name, ok := result.(*ast.Ident); ok && other[name.Name] != "" {
			f.add(returned, n, name.Pos(), name.End(), other[name.Name], fmt.Sprintf("returns %s for %s", other[name.Name], name.Name))
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
