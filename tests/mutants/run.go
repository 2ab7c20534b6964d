package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// outcome says what the tests made of a change.
type outcome int

const (
	noticed   outcome = iota // a test failed, or the tests did not come to an end
	survived                 // all tests that reach the place passed
	unreached                // no test reaches the place
	unusable                 // the changed program does not compile
)

// runner runs the tests of packages with changed files.
type runner struct {
	root     string // the module's folder
	scratch  string // where changed files, the overlay and the trials' temporary folders lie
	bounds   bounds
	thorough bool // run all tests of the package before a change counts as survived
	apart    bool // compile each change by itself
	w        io.Writer
}

// subject is a package that is ready to be changed.
type subject struct {
	*program
	binary  string       // its tests with all changes; the end of the file's name chooses one
	slow    map[int]bool // indices of the places that are not in the binary
	tests   []test       // fastest first
	reached map[int][]test
	blind   map[int]bool // indices of the places of which is not known who reaches them
}

// prepare compiles a package with all its changes, runs each of its tests
// without a change, and notes which places each reaches.
func (r *runner) prepare(ctx context.Context, pkg string) (*subject, error) {
	began := time.Now()
	p, err := load(ctx, r.root, pkg)
	if err != nil {
		return nil, err
	}
	s := &subject{program: p, binary: filepath.Join(r.scratch, filepath.Base(pkg)+".test")}
	if s.slow, s.blind, err = r.buildAll(ctx, p, s.binary); err != nil {
		return nil, err
	}
	built := time.Since(began)
	if err := r.record(ctx, s); err != nil {
		return nil, err
	}
	fmt.Fprintf(r.w, "%s: %d places, %d of them compiled one by one; compiled in %.0f s, %d tests run in %.0f s\n",
		pkg, len(p.places), len(s.slow), built.Seconds(), len(s.tests), (time.Since(began) - built).Seconds())
	return s, nil
}

// patience is how long changed tests may take when the unchanged ones take
// this long: other programs on the machine may slow one run and not the other.
func patience(took time.Duration) time.Duration { return 4*took + 5*time.Second }

// try runs the tests that reach a place with the place changed. Tests that
// take much longer than without the change or need more than the bounds count
// as failed: the change made something wait or grow for ever.
func (r *runner) try(ctx context.Context, s *subject, c place) (outcome, error) {
	i := s.find(c)
	if i < 0 || !s.compiles(c) {
		return unusable, nil
	}
	tests := s.reached[i]
	if s.blind[i] || r.thorough {
		tests = ahead(tests, s.tests)
	}
	if len(tests) == 0 {
		return unreached, nil
	}
	binary := s.binary + "." + strconv.Itoa(i+1)
	defer os.Remove(binary)
	if !s.slow[i] && !r.apart {
		if err := os.Link(s.binary, binary); err != nil {
			return 0, fmt.Errorf("name the changed program: %w", err)
		}
	} else if _, err := r.build(ctx, s.pkg, map[string][]byte{c.file: c.apply(s.sources[c.file])}, binary); errors.Is(err, errCompile) {
		return unusable, nil
	} else if err != nil {
		return 0, fmt.Errorf("try %s: %w", c, err)
	}
	for _, some := range batches(tests) {
		passed, err := r.run(ctx, s, binary, some)
		if err != nil {
			return 0, fmt.Errorf("try %s: %w", c, err)
		}
		if !passed {
			return noticed, nil
		}
	}
	return survived, nil
}

// ahead puts some of all tests first.
func ahead(some, all []test) []test {
	known := map[string]bool{}
	var found []test
	for _, t := range append(some[:len(some):len(some)], all...) {
		if !known[t.name] {
			known[t.name] = true
			found = append(found, t)
		}
	}
	return found
}
