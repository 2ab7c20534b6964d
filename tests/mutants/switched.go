package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// switched writes a program that holds all its changes, of which a variable
// chooses one.
type switched struct {
	*program
	slow     map[int]bool      // indices of the places that cannot be written so; they are only marked
	unmarked map[int]bool      // indices of those that cannot even be marked
	names    map[string]string // how a type is written in the file of helpers: its short name
	with     map[string]string // import path of a package whose types are named: its name in the file of helpers
}

// edit is a text that comes before or behind a range of the source, or that
// stands for it.
type edit struct {
	start, end    int
	before, after string // they enclose the range
	instead       string // it stands for the range, when not empty
	call          bool   // before and after make operands arguments, so nothing may come between
}

// sources gives the changed text of each file that has places. A place has
// the number of its index plus one.
func (s *switched) sources() map[string][]byte {
	edits := map[string][]edit{}
	for i, c := range s.places {
		var made []edit
		if !s.slow[i] {
			made = s.edits(c, i+1)
		}
		if made == nil {
			s.slow[i] = true
		}
		if made == nil && !s.unmarked[i] {
			made = s.mark(c, i+1)
		}
		edits[c.file] = append(edits[c.file], made...)
	}
	texts := map[string][]byte{}
	for name, list := range edits {
		texts[name] = rewrite(s.program.sources[name], list)
	}
	return texts
}

// mark notes that the statement that holds a place is reached.
func (s *switched) mark(c place, id int) []edit {
	if c.stmt == nil {
		s.unmarked[id-1] = true
		return nil
	}
	at := s.offset(c.stmt.Pos())
	return []edit{{start: at, end: s.offset(c.stmt.End()), before: fmt.Sprintf("_ = mutantOn(%d); ", id)}}
}

func (s *switched) offset(pos token.Pos) int { return s.fset.Position(pos).Offset }

// edits writes a change so that the number chooses it. It gives nothing for a
// change that cannot be written so.
func (s *switched) edits(c place, id int) []edit {
	around := func(n ast.Node, before, after string) []edit {
		return []edit{{start: s.offset(n.Pos()), end: s.offset(n.End()), before: before, after: after}}
	}
	switch c.kind {
	case negated:
		return around(c.node, fmt.Sprintf("(mutantOn(%d) != (", id), "))")
	case returned:
		return []edit{{start: c.start, end: c.end, before: fmt.Sprintf("(mutantOn(%d) != ", id), after: ")"}}
	case swapped:
		return s.operator(c, c.node.(*ast.BinaryExpr), id, around)
	case shifted:
		n := c.node.(*ast.BasicLit)
		name := s.name(s.info.Types[n].Type)
		if name == "" || !fits(s.info.Types[n].Type, c.text) {
			return nil
		}
		return []edit{{start: c.start, end: c.end, instead: fmt.Sprintf("mutantNumber[%s](%d, %s, %s)", name, id, n.Value, c.text)}}
	case skipped:
		return s.statement(c, fmt.Sprintf("if !mutantOn(%d) { ", id), around)
	case dropped:
		return s.statement(c, fmt.Sprintf("if mutantOn(%d) { %s } else { ", id, c.text), around)
	}
	return nil
}

// statement encloses a statement in a condition, and in a function when it
// stands in the header of another one.
func (s *switched) statement(c place, condition string, around func(ast.Node, string, string) []edit) []edit {
	switch {
	case c.clause:
		return nil
	case c.header:
		return around(c.node, "(func() { "+condition, " } })()")
	}
	return around(c.node, condition, " }")
}

// verbs gives the end of the name of each operator's helper.
var verbs = map[token.Token]string{
	token.ADD: "Add", token.SUB: "Sub", token.MUL: "Mul", token.QUO: "Quo",
	token.LSS: "Less", token.LEQ: "Most", token.GTR: "More", token.GEQ: "Least",
}

// operator writes the change of an operator.
func (s *switched) operator(c place, n *ast.BinaryExpr, id int, around func(ast.Node, string, string) []edit) []edit {
	turned := fmt.Sprintf("(mutantOn(%d) != (", id)
	switch n.Op {
	case token.EQL, token.NEQ:
		return around(n, turned, "))")
	case token.LAND, token.LOR:
		// Both operands and the result negated turn one operator into the other.
		return slices.Concat(around(n, turned, "))"), around(n.X, turned, "))"), around(n.Y, turned, "))"))
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return s.call(c, n, fmt.Sprintf("mutant%s(%d, ", verbs[n.Op], id))
	}
	name := s.name(s.info.Types[n].Type)
	if name == "" || !numeric(s.info.Types[n].Type) {
		return nil
	}
	return s.call(c, n, fmt.Sprintf("mutant%s[%s](%d, ", verbs[n.Op], name, id))
}

// call makes the operands of an operator the arguments of a call.
func (s *switched) call(c place, n *ast.BinaryExpr, begin string) []edit {
	return []edit{
		{start: s.offset(n.Pos()), end: s.offset(n.End()), before: begin, after: ")", call: true},
		{start: c.start, end: c.end, instead: ","},
	}
}

// rewrite makes the edits of one file. Of two ranges that overlap one holds
// the other.
func rewrite(source []byte, edits []edit) []byte {
	// Outer ranges come before inner ones, and of equal ranges a call last.
	slices.SortStableFunc(edits, func(a, b edit) int {
		calls := 0
		if a.call != b.call && b.call {
			calls = -1
		} else if a.call != b.call {
			calls = 1
		}
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), calls)
	})
	type piece struct {
		at, rank int
		text     string
		skip     int // how much of the source it stands for
	}
	var pieces []piece
	n := len(edits)
	for i, e := range edits {
		// At one position inner ranges end before outer ones, and all that
		// end there do so before others begin.
		pieces = append(pieces, piece{at: e.end, rank: -i - 1, text: e.after})
		pieces = append(pieces, piece{at: e.start, rank: i, text: e.before})
		if e.instead != "" {
			pieces = append(pieces, piece{at: e.start, rank: n, text: e.instead, skip: e.end - e.start})
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	var out []byte
	at := 0
	for _, p := range pieces {
		out = append(out, source[at:p.at]...)
		out = append(out, p.text...)
		at = p.at + p.skip
	}
	return append(out, source[at:]...)
}

// name gives a short name for a type, which the file of helpers declares. It
// is empty for a type that has no name outside of a function.
func (s *switched) name(t types.Type) string {
	if t == nil {
		return ""
	}
	t = types.Default(types.Unalias(t))
	var written string
	switch t := t.(type) {
	case *types.Basic:
		written = t.Name()
	case *types.Named:
		object := t.Obj()
		switch {
		case object.Pkg() == nil || t.TypeArgs() != nil || object.Parent() != object.Pkg().Scope():
			return ""
		case object.Pkg() == s.types:
			written = object.Name()
		case !object.Exported():
			return ""
		default:
			if s.with[object.Pkg().Path()] == "" {
				s.with[object.Pkg().Path()] = fmt.Sprintf("mutantImport%d", len(s.with))
			}
			written = s.with[object.Pkg().Path()] + "." + object.Name()
		}
	default:
		return ""
	}
	if s.names[written] == "" {
		s.names[written] = fmt.Sprintf("mutantType%d", len(s.names))
	}
	return s.names[written]
}

// helpers gives the file that the changed files call.
func (s *switched) helpers() []byte {
	var imports, names strings.Builder
	for _, path := range slices.Sorted(maps.Keys(s.with)) {
		fmt.Fprintf(&imports, "import %s %q\n", s.with[path], path)
	}
	for _, written := range slices.Sorted(maps.Keys(s.names)) {
		fmt.Fprintf(&names, "type %s = %s\n", s.names[written], written)
	}
	return fmt.Appendf(nil, helperText, s.types.Name(), imports.String(), names.String(), len(s.places)+1)
}
