package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// program is a package whose sources are parsed and type-checked.
type program struct {
	pkg      string // the package's folder below the module's
	path     string // its import path
	dir      string
	fset     *token.FileSet
	files    map[string]*ast.File // path of the file: its tree
	sources  map[string][]byte    // path of the file: its text
	info     *types.Info
	types    *types.Package
	importer types.Importer
	places   []place // in the order of files and positions
}

// load reads a package and the types of what it imports.
func load(ctx context.Context, root, pkg string) (*program, error) {
	listed, exports, err := list(ctx, root, pkg)
	if err != nil {
		return nil, err
	}
	p := &program{
		pkg: pkg, path: listed.ImportPath, dir: listed.Dir, fset: token.NewFileSet(),
		files: map[string]*ast.File{}, sources: map[string][]byte{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}},
	}
	p.importer = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("the go command listed no export data of %s", path)
		}
		return os.Open(exports[path])
	})
	for _, name := range listed.GoFiles {
		name = filepath.Join(listed.Dir, name)
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		file, err := parser.ParseFile(p.fset, name, source, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parse source: %w", err)
		}
		p.files[name], p.sources[name] = file, source
		if measured(name) {
			p.places = append(p.places, placesOfFile(p.fset, file, source)...)
		}
	}
	if p.types, err = p.check(p.info, p.files); err != nil {
		return nil, fmt.Errorf("check the types of %s: %w", pkg, err)
	}
	return p, nil
}

// check checks the types of the package with these files.
func (p *program) check(info *types.Info, files map[string]*ast.File) (*types.Package, error) {
	config := types.Config{Importer: p.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	var all []*ast.File
	for _, file := range files {
		all = append(all, file)
	}
	return config.Check(p.path, p.fset, all, info)
}

// compiles says whether the program with this place changed would compile.
// Only numbers, arithmetic and values without a type can prevent that.
func (p *program) compiles(c place) bool {
	if c.kind != shifted && c.kind != swapped && c.kind != dropped {
		return true
	}
	file, err := parser.ParseFile(p.fset, c.file, c.apply(p.sources[c.file]), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := map[string]*ast.File{}
	for name := range p.files {
		files[name] = p.files[name]
	}
	files[c.file] = file
	_, err = p.check(nil, files)
	return err == nil
}

// find gives the number of a place in p.places, or -1 when the place stands
// in a file that the build leaves out.
func (p *program) find(c place) int {
	for i, known := range p.places {
		if known.file == c.file && known.start == c.start && known.end == c.end && known.text == c.text {
			return i
		}
	}
	return -1
}

// listedPackage is what the go command says of a package.
type listedPackage struct {
	Dir, ImportPath, Export string
	GoFiles, CgoFiles       []string
	DepOnly                 bool
}

// list asks the go command for the files of a package and for the files that
// hold the types of the packages that it imports.
func list(ctx context.Context, root, pkg string) (found listedPackage, exports map[string]string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,CgoFiles,DepOnly", "./"+pkg)
	cmd.Dir = root
	var printed, complaint strings.Builder
	cmd.Stdout, cmd.Stderr = &printed, &complaint
	if err := cmd.Run(); err != nil {
		return found, nil, fmt.Errorf("list the files of %s: %w\n%s", pkg, err, complaint.String())
	}
	exports = map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(printed.String())); ; {
		var one listedPackage
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return found, nil, fmt.Errorf("read what the go command lists of %s: %w", pkg, err)
		}
		exports[one.ImportPath] = one.Export
		if !one.DepOnly {
			found = one
		}
	}
	if len(found.CgoFiles) > 0 {
		return found, nil, fmt.Errorf("change %s: it calls C in %s, which this program cannot change", pkg, found.CgoFiles[0])
	}
	return found, exports, nil
}
