// The command godoc writes the documentation of Go packages as Markdown, for the site that `make docs` builds: one page a package, with its
// exported names, their comments and the examples.
//
//	go run ./tests/godoc FOLDER core core/worker
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

const module = "github.com/eagleray/eagleray"

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: godoc FOLDER PACKAGE…")
		os.Exit(2)
	}
	for _, dir := range os.Args[2:] {
		if err := write(os.Args[1], dir); err != nil {
			fmt.Fprintf(os.Stderr, "godoc: package %s: %v\n", dir, err)
			os.Exit(1)
		}
	}
}

func write(folder, dir string) error {
	text, err := page(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, strings.ReplaceAll(dir, "/", ".")+".md"), text, 0o644)
}

// writer writes one page.
type writer struct {
	bytes.Buffer
	files *token.FileSet
	about *doc.Package
}

func page(dir string) ([]byte, error) {
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	w := &writer{files: token.NewFileSet()}
	var sources []*ast.File
	for _, names := range [][]string{found.GoFiles, found.CgoFiles, found.TestGoFiles, found.XTestGoFiles} {
		for _, name := range names {
			file, err := parser.ParseFile(w.files, filepath.Join(dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			sources = append(sources, file)
		}
	}
	if w.about, err = doc.NewFromFiles(w.files, sources, module+"/"+dir); err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "# package %s\n\n```go\nimport %q\n```\n\n", w.about.Name, w.about.ImportPath)
	w.comment(w.about.Doc)
	w.examples(w.about.Examples)
	w.values("Constants", w.about.Consts)
	w.values("Variables", w.about.Vars)
	for _, f := range w.about.Funcs {
		w.function(2, "func "+f.Name, f.Name, f)
	}
	for _, t := range w.about.Types {
		w.heading(2, "type "+t.Name, t.Name)
		w.code(t.Decl)
		w.comment(t.Doc)
		w.examples(t.Examples)
		w.values("", t.Consts)
		w.values("", t.Vars)
		for _, f := range t.Funcs {
			w.function(3, "func "+f.Name, f.Name, f)
		}
		for _, f := range t.Methods {
			w.function(3, fmt.Sprintf("func (%s) %s", f.Recv, f.Name), t.Name+"."+f.Name, f)
		}
	}
	return w.Bytes(), nil
}

// heading writes a heading with the anchor that links in comments lead to.
func (w *writer) heading(level int, text, anchor string) {
	fmt.Fprintf(w, "%s `%s` { #%s }\n\n", strings.Repeat("#", level), text, anchor)
}

func (w *writer) function(level int, title, anchor string, f *doc.Func) {
	w.heading(level, title, anchor)
	w.code(f.Decl)
	w.comment(f.Doc)
	w.examples(f.Examples)
}

func (w *writer) values(title string, values []*doc.Value) {
	if len(values) > 0 && title != "" {
		fmt.Fprintf(w, "## %s\n\n", title)
	}
	for _, v := range values {
		for _, name := range v.Names {
			fmt.Fprintf(w, "<a id=%q></a>\n", name)
		}
		w.WriteString("\n")
		w.code(v.Decl)
		w.comment(v.Doc)
	}
}

func (w *writer) comment(text string) {
	printer := w.about.Printer()
	printer.HeadingLevel = 2
	printer.DocLinkBaseURL = "https://pkg.go.dev"
	printer.HeadingID = nil
	w.Write(printer.Markdown(w.about.Parser().Parse(text)))
	w.WriteString("\n")
}

func (w *writer) examples(examples []*doc.Example) {
	for _, e := range examples {
		title := "Example"
		if e.Suffix != "" {
			title += " (" + e.Suffix + ")"
		}
		fmt.Fprintf(w, "%s:\n\n", title)
		w.comment(e.Doc)
		w.code(e.Code)
	}
}

// code writes a declaration or the body of an example. go/doc has left out what is not exported, and the bodies.
func (w *writer) code(node ast.Node) {
	var text bytes.Buffer // format.Node writes into memory, where nothing fails but a broken tree
	if err := format.Node(&text, w.files, node); err != nil {
		fmt.Fprintf(&text, "%v", err)
	}
	lines := text.String()
	if _, isBlock := node.(*ast.BlockStmt); isBlock { // without its braces
		lines = strings.TrimSuffix(strings.TrimPrefix(lines, "{\n"), "\n}")
		lines = strings.ReplaceAll("\n"+lines, "\n\t", "\n")
	}
	fmt.Fprintf(w, "```go\n%s\n```\n\n", strings.Trim(lines, "\n"))
}
