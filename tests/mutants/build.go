package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// compileMost is how long compiling and linking a changed package may take.
const compileMost = 10 * time.Minute

// errCompile says that a changed package does not compile.
var errCompile = errors.New("it does not compile")

// build compiles the tests of a package with some files replaced or added.
func (r *runner) build(ctx context.Context, pkg string, files map[string][]byte, binary string) (printed []byte, err error) {
	// The compiler may name the copies in its errors, so they keep their names.
	replaced := map[string]string{}
	for name, text := range files {
		copied := filepath.Join(r.scratch, filepath.Base(name))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return nil, fmt.Errorf("write changed source: %w", err)
		}
		replaced[name] = copied
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		return nil, fmt.Errorf("encode overlay: %w", err)
	}
	overlay := filepath.Join(r.scratch, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return nil, fmt.Errorf("write overlay: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, compileMost)
	defer cancel()
	// -e: every error of the compiler is wanted, each shows a change that
	// has to be made by itself.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-gcflags=-e", "-overlay="+overlay, "-o", binary, "./"+pkg)
	cmd.Dir = r.root
	printed, verdict, err := r.bounds.output(cmd, filepath.Join(r.scratch, "t"))
	if err == nil && verdict != nil {
		err = errCompile
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return printed, fmt.Errorf("compile the tests of %s: %w", pkg, err)
	}
	if _, err := os.Stat(binary); err != nil {
		return printed, fmt.Errorf("compile the tests of %s: the package has none: %w", pkg, err)
	}
	return printed, nil
}

// rounds bounds how often a program with all changes is compiled anew without
// those that did not compile.
const rounds = 12

// buildAll compiles a program that holds all changes. It gives the indices of
// the places that could not be written so, and of those among them that could
// not even be marked.
func (r *runner) buildAll(ctx context.Context, p *program, binary string) (slow, unmarked map[int]bool, err error) {
	slow, unmarked = map[int]bool{}, map[int]bool{}
	for range rounds {
		s := &switched{program: p, slow: slow, unmarked: unmarked, names: map[string]string{}, with: map[string]string{}}
		files := s.sources()
		files[filepath.Join(p.dir, "mutant_helpers.go")] = s.helpers()
		printed, err := r.build(ctx, p.pkg, files, binary)
		if err == nil {
			return slow, unmarked, nil
		}
		if !errors.Is(err, errCompile) {
			return nil, nil, err
		}
		found := blamed(printed, p.dir, files)
		if len(found) == 0 {
			return nil, nil, fmt.Errorf("%w\n%s", err, printed)
		}
		for _, id := range found {
			unmarked[id-1] = unmarked[id-1] || slow[id-1]
			slow[id-1] = true
		}
	}
	return nil, nil, fmt.Errorf("compile the tests of %s with all changes: errors are left after %d rounds", p.pkg, rounds)
}

var (
	errorLine = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):`)
	number    = regexp.MustCompile(`mutant[A-Z][a-z]+(?:\[\w+\])?\((\d+)`)
)

// blamed gives the numbers of the changes that stand on lines that the
// compiler complains of, or on the next line above that has some.
func blamed(printed []byte, dir string, files map[string][]byte) (ids []int) {
	seen := map[int]bool{}
	for _, match := range errorLine.FindAllSubmatch(printed, -1) {
		lines := bytes.Split(files[filepath.Join(dir, filepath.Base(string(match[1])))], []byte("\n"))
		line, err := strconv.Atoi(string(match[2]))
		if err != nil || line > len(lines) {
			continue
		}
		var found [][][]byte
		for ; line > 0 && found == nil; line-- {
			found = number.FindAllSubmatch(lines[line-1], -1)
		}
		for _, one := range found {
			if id, err := strconv.Atoi(string(one[1])); err == nil && !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}
