package main

import "go/ast"

// stmt finds the innermost statement of a list that is or holds the node.
func (f *finder) stmt(node ast.Node) ast.Stmt {
	for i := len(f.above) - 1; i >= 0; i-- {
		stmt, ok := node.(ast.Stmt)
		if ok && listed(f.above[i], stmt) {
			return stmt
		}
		node = f.above[i]
	}
	return nil
}

// listed says whether a statement is one of a list of statements, so that
// another may be put before it.
func listed(above ast.Node, stmt ast.Stmt) bool {
	switch n := above.(type) {
	case *ast.BlockStmt:
		return !isClause(stmt)
	case *ast.CaseClause:
		return true
	case *ast.CommClause:
		return n.Comm != stmt
	}
	return false
}

func isClause(stmt ast.Stmt) bool {
	switch stmt.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// header says whether a node is a statement that stands in no list and has no
// label, but in the header of another one.
func (f *finder) header(node ast.Node) bool {
	stmt, ok := node.(ast.Stmt)
	above := f.above[len(f.above)-1]
	_, labelled := above.(*ast.LabeledStmt)
	return ok && !labelled && !listed(above, stmt)
}

// clause says whether a node is the communication of a case of a select statement.
func (f *finder) clause(node ast.Node) bool {
	above, ok := f.above[len(f.above)-1].(*ast.CommClause)
	return ok && above.Comm == node
}
