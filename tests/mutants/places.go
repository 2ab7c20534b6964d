package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kind says what is done to a place. It decides how the change is written
// into a program that holds all changes, see switched.go.
type kind int

const (
	negated  kind = iota // a condition
	swapped              // a binary operator
	shifted              // a whole number
	skipped              // a statement
	dropped              // an assignment, whose value is still evaluated
	returned             // a constant truth value
)

// place is one change that can be made to one file.
type place struct {
	file       string // path of the file
	line       int
	what       string // what the change does, for the report
	start, end int    // the bytes that are replaced
	text       string // what replaces them

	kind   kind
	node   ast.Node // what is changed
	stmt   ast.Stmt // the innermost statement of a list that holds the node
	header bool     // the node is a statement in the header of an if, for or switch
	clause bool     // the node is the assignment of a case of a select statement
}

func (p place) String() string { return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.what) }

// apply gives the source with the change made.
func (p place) apply(source []byte) []byte {
	return slices.Concat(source[:p.start], []byte(p.text), source[p.end:])
}

// errNoPlace says that nothing in a package can be changed.
var errNoPlace = errors.New("no place can be changed")

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
		if !measured(name) {
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
		return nil, fmt.Errorf("read sources of %s: %w", dir, errNoPlace)
	}
	return found, nil
}

// measured says whether the places of a file count.
func measured(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_other.go")
}

// placesIn lists the changes that can be made to one file.
func placesIn(name string, source []byte) ([]place, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse source: %w", err)
	}
	return placesOfFile(fset, file, source), nil
}
