package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// test is one test function, example or fuzz test, which runs its seeds.
type test struct {
	name string
	took time.Duration // without a change
}

// tries is how often an unchanged test may fail before it is left out: other
// programs on the machine may hold one run up.
const tries = 2

// testMost is how long one unchanged test may take.
const testMost = 10 * time.Minute

// firstBatch is how long the tests that run first may take. Most changes that
// are noticed at all are noticed by many tests, so the fast ones go first.
const firstBatch = time.Second

// batches parts tests into sets that run one after the other, each about
// four times as long as the one before.
func batches(tests []test) (sets [][]test) {
	sum, most := time.Duration(0), firstBatch
	var set []test
	for _, t := range tests {
		if len(set) > 0 && sum+t.took > most {
			sets, set, sum, most = append(sets, set), nil, 0, 4*most
		}
		set, sum = append(set, t), sum+t.took
	}
	return append(sets, set)
}

// record runs each test alone without a change and notes how long it takes
// and which places it reaches, in its own process and in those that it starts.
// A test that fails twice without a change could tell nothing and is left out;
// when all do, there is nothing to measure with.
func (r *runner) record(ctx context.Context, s *subject) error {
	names, err := r.names(ctx, s)
	if err != nil {
		return err
	}
	binary := s.binary + ".reach"
	if err := os.Link(s.binary, binary); err != nil {
		return fmt.Errorf("name the program that notes places: %w", err)
	}
	defer os.Remove(binary)
	defer os.Remove(binary + ".places")
	reached := map[string][]byte{}
	for _, name := range names {
		passed := false
		var took time.Duration
		for try := 0; try < tries && !passed; try++ {
			if err := os.WriteFile(binary+".places", make([]byte, len(s.places)+1), 0o600); err != nil {
				return fmt.Errorf("make the list of places: %w", err)
			}
			began := time.Now()
			if passed, err = r.run(ctx, s, binary, []test{{name, testMost / 4}}); err != nil {
				return fmt.Errorf("run the unchanged test %s of %s: %w", name, s.pkg, err)
			}
			took = time.Since(began)
			if passed && try > 0 {
				fmt.Fprintf(r.w, "not steady: %s of %s failed once without a change\n", name, s.pkg)
			}
		}
		if !passed {
			fmt.Fprintf(r.w, "left out: %s of %s fails without a change\n", name, s.pkg)
			continue
		}
		if reached[name], err = os.ReadFile(binary + ".places"); err != nil {
			return fmt.Errorf("read the list of places: %w", err)
		}
		s.tests = append(s.tests, test{name, took})
	}
	if s.tests == nil {
		return fmt.Errorf("run the unchanged tests of %s: each of %d fails", s.pkg, len(names))
	}
	slices.SortStableFunc(s.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	s.reached = map[int][]test{}
	for _, t := range s.tests {
		for id, is := range reached[t.name] {
			if is != 0 {
				s.reached[id-1] = append(s.reached[id-1], t)
			}
		}
	}
	return nil
}

// names lists the tests, examples and fuzz tests of a package.
func (r *runner) names(ctx context.Context, s *subject) (found []string, err error) {
	cmd := exec.CommandContext(ctx, s.binary, "-test.list", ".")
	cmd.Dir = s.dir
	printed, verdict, err := r.bounds.output(cmd, filepath.Join(r.scratch, "t"))
	if err != nil || verdict != nil {
		return nil, fmt.Errorf("list the tests of %s: %w\n%s", s.pkg, cmp.Or(err, verdict), printed)
	}
	for line := range strings.Lines(string(printed)) {
		name := strings.TrimSpace(line)
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			found = append(found, name)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("list the tests of %s: there are none", s.pkg)
	}
	return found, nil
}

// run runs some tests of a compiled package and says whether they pass.
func (r *runner) run(ctx context.Context, s *subject, binary string, tests []test) (passed bool, err error) {
	var names []string
	var sum time.Duration
	for _, t := range tests {
		names, sum = append(names, regexp.QuoteMeta(t.name)), sum+t.took
	}
	limit := patience(sum)
	// The tests end at their own limit, with a dump of what they wait for.
	// Ours comes later and is for programs that hold even that up.
	within, cancel := context.WithTimeout(ctx, 2*limit)
	defer cancel()
	cmd := exec.CommandContext(within, binary, "-test.run=^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.timeout="+limit.String())
	cmd.Dir = s.dir
	printed, verdict, err := r.bounds.output(cmd, filepath.Join(r.scratch, "t"))
	if err == nil {
		err = ctx.Err()
	}
	if verdict != nil && bytes.Contains(printed, []byte("mutantChoice")) {
		return false, fmt.Errorf("the changed program cannot tell its change:\n%s", printed)
	}
	return verdict == nil, err
}
