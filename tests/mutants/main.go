package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plan says what to measure.
type plan struct {
	seed            uint64
	n               int     // changes to each group
	minutes         float64 // no change is begun later
	groups          []group
	root            string
	thorough, apart bool
	at              []string // file and line of the only places; nil: all
	files           []string // the only files, as core/internal/refs/table.go; nil: all
}

func main() {
	var p plan
	list := flag.Bool("list", false, "list the places of each group, and change nothing")
	names := flag.String("packages", "", "packages or groups to change, separated by commas; all unless given")
	at := flag.String("at", "", "only places at these lines, as core/internal/refs/table.go:12, separated by commas; every change of them")
	files := flag.String("files", "", "only places of these files, as core/internal/refs/table.go, separated by commas")
	strict := flag.Bool("strict", false, "fail when the tests of a group notice less than is wanted")
	flag.Uint64Var(&p.seed, "seed", 1, "chooses the places")
	flag.IntVar(&p.n, "n", 20, "changes to each group")
	flag.Float64Var(&p.minutes, "minutes", 60, "no change is begun after so many minutes")
	flag.StringVar(&p.root, "root", ".", "the module's folder")
	flag.BoolVar(&p.thorough, "thorough", false, "run all tests of the package for changes that the tests that reach the place do not notice")
	flag.BoolVar(&p.apart, "apart", false, "compile each change by itself: slow, and only to check that the verdicts are the same")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	var rates []rate
	if *at != "" {
		p.at, p.n = strings.Split(*at, ","), math.MaxInt
	}
	if *files != "" {
		p.files = strings.Split(*files, ",")
	}
	if p.groups, err = chosen(*names); err == nil {
		err = p.named()
	}
	if err == nil && !*list {
		rates, err = measure(ctx, p, os.Stdout)
	} else if err == nil {
		err = show(p, os.Stdout)
	}
	report(os.Stdout, rates)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	for _, r := range rates {
		if *strict && !r.enough() && (r.tried > 0 || p.at == nil) {
			os.Exit(1)
		}
	}
}

// measure makes the changes one after the other, and prints survivors as it
// goes. Packages that cannot be measured are in the error; the rates are those
// of the others.
func measure(ctx context.Context, p plan, w io.Writer) ([]rate, error) {
	scratch, err := os.MkdirTemp("", "mu") // short: tests have sockets below it, whose paths are bounded
	if err != nil {
		return nil, fmt.Errorf("make folder for changed files: %w", err)
	}
	defer os.RemoveAll(scratch)
	root, err := filepath.Abs(p.root)
	if err != nil {
		return nil, fmt.Errorf("find the module's folder: %w", err)
	}
	r := &runner{root: root, scratch: scratch, bounds: ordinary, thorough: p.thorough, apart: p.apart, w: w}
	end := time.Now().Add(time.Duration(p.minutes * float64(time.Minute)))
	var rates []rate
	var failures []error
	for _, g := range p.groups {
		found, err := r.group(ctx, g, p, end)
		rates, failures = append(rates, found), append(failures, err)
	}
	return rates, errors.Join(failures...)
}

// group makes the changes to one group of packages. It gives up on a package
// that cannot be measured, and goes on with the others.
func (r *runner) group(ctx context.Context, g group, p plan, end time.Time) (rate, error) {
	found := rate{group: g}
	all, err := candidates(r.root, g, p)
	if err != nil {
		return found, err
	}
	// Every place is as likely as every other, so a large package has more.
	rng := rand.New(rand.NewPCG(p.seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	subjects := map[string]*subject{}
	failures := map[string]error{}
	for _, c := range all {
		if found.tried == p.n || time.Now().After(end) || ctx.Err() != nil {
			break // the report shows what was done
		}
		if failures[c.pkg] != nil {
			continue
		}
		var result outcome
		err := r.need(ctx, subjects, c.pkg)
		if err == nil {
			result, err = r.try(ctx, subjects[c.pkg], c.place)
		}
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			failures[c.pkg] = err
			fmt.Fprintf(r.w, "given up: %s: %v\n", c.pkg, err)
			continue
		}
		found.note(r, c.place, result)
	}
	return found, errors.Join(slices.Collect(maps.Values(failures))...)
}

// need prepares a package unless it is among the prepared ones.
func (r *runner) need(ctx context.Context, subjects map[string]*subject, pkg string) error {
	if subjects[pkg] != nil {
		return nil
	}
	s, err := r.prepare(ctx, pkg)
	if err == nil {
		subjects[pkg] = s
	}
	return err
}

// note counts what became of a change, and prints a survivor.
func (found *rate) note(r *runner, c place, result outcome) {
	switch result {
	case unusable:
		return
	case noticed:
		found.noticed++
	case unreached, survived:
		if rel, err := filepath.Rel(r.root, c.file); err == nil {
			c.file = rel
		}
		if result == unreached {
			found.unreached++
			c.what += " (no test reaches it)"
		}
		found.survivors = append(found.survivors, c)
		fmt.Fprintln(r.w, "survived:", c)
	}
	found.tried++
}

// candidate is a place, and the package whose tests have to notice its change.
type candidate struct {
	pkg string
	place
}

// candidates lists the places of a group that the plan asks for.
func candidates(root string, g group, p plan) ([]candidate, error) {
	var all []candidate
	for _, pkg := range g.packages {
		places, err := placesOf(filepath.Join(root, pkg))
		if err != nil {
			return nil, err
		}
		for _, c := range places {
			name := pkg + "/" + filepath.Base(c.file)
			if (p.files == nil || slices.Contains(p.files, name)) && (p.at == nil || slices.Contains(p.at, fmt.Sprintf("%s:%d", name, c.line))) {
				all = append(all, candidate{pkg, c})
			}
		}
	}
	return all, nil
}

// show lists the places of each group.
func show(p plan, w io.Writer) error {
	for _, g := range p.groups {
		all, err := candidates(p.root, g, p)
		if err != nil {
			return err
		}
		for _, c := range all {
			fmt.Fprintln(w, c.place)
		}
	}
	return nil
}
