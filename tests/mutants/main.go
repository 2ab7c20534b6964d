package main

import (
	"context"
	"flag"
	"fmt"
	"io"
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
	seed    uint64
	n       int     // changes to each group
	minutes float64 // no change is begun later
	groups  []group
	root    string
	at      []string // file and line of the only places; nil: all
}

func main() {
	var p plan
	list := flag.Bool("list", false, "list the places of each group, and change nothing")
	names := flag.String("packages", "", "packages or groups to change, separated by commas; all unless given")
	at := flag.String("at", "", "only places at these lines, as core/own/table.go:12, separated by commas; every change of them")
	strict := flag.Bool("strict", false, "fail when the tests of a group notice less than is wanted")
	flag.Uint64Var(&p.seed, "seed", 1, "chooses the places")
	flag.IntVar(&p.n, "n", 20, "changes to each group")
	flag.Float64Var(&p.minutes, "minutes", 60, "no change is begun after so many minutes")
	flag.StringVar(&p.root, "root", ".", "the module's folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	var rates []rate
	if *at != "" {
		p.at, p.n = strings.Split(*at, ","), math.MaxInt
	}
	if p.groups, err = chosen(*names); err == nil && !*list {
		rates, err = measure(ctx, p, os.Stdout)
	} else if err == nil {
		err = show(p, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	report(os.Stdout, rates)
	for _, r := range rates {
		if *strict && !r.enough() && (r.tried > 0 || p.at == nil) {
			os.Exit(1)
		}
	}
}

// measure makes the changes one after the other, and prints each as it goes.
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
	r := &runner{root: root, scratch: scratch, bounds: ordinary}
	end := time.Now().Add(time.Duration(p.minutes * float64(time.Minute)))
	var rates []rate
	for _, g := range p.groups {
		found, err := r.group(ctx, g, p, end, w)
		if err != nil {
			return nil, err
		}
		rates = append(rates, found)
	}
	return rates, nil
}

// group makes the changes to one group of packages.
func (r *runner) group(ctx context.Context, g group, p plan, end time.Time, w io.Writer) (rate, error) {
	found := rate{group: g}
	all, err := candidates(r.root, g)
	if err != nil {
		return found, err
	}
	if p.at != nil {
		all = slices.DeleteFunc(all, func(c candidate) bool {
			return !slices.Contains(p.at, fmt.Sprintf("%s/%s:%d", c.pkg, filepath.Base(c.file), c.line))
		})
	}
	// Every place is as likely as every other, so a large package has more.
	rng := rand.New(rand.NewPCG(p.seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	took := map[string]time.Duration{}
	for _, c := range all {
		if found.tried == p.n || time.Now().After(end) || ctx.Err() != nil {
			break // the report shows what was done
		}
		if took[c.pkg] == 0 {
			var err error
			if took[c.pkg], err = r.plain(ctx, c.pkg); err != nil {
				return found, err
			}
		}
		result, err := r.try(ctx, c.pkg, c.place, patience(took[c.pkg]))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return found, err
		}
		switch result {
		case unusable:
			continue
		case noticed:
			found.noticed++
		case survived:
			if rel, err := filepath.Rel(r.root, c.file); err == nil {
				c.file = rel
			}
			found.survivors = append(found.survivors, c.place)
			fmt.Fprintln(w, "survived:", c.place)
		}
		found.tried++
	}
	return found, nil
}

// candidate is a place, and the package whose tests have to notice its change.
type candidate struct {
	pkg string
	place
}

// candidates lists the places of a group.
func candidates(root string, g group) ([]candidate, error) {
	var all []candidate
	for _, pkg := range g.packages {
		places, err := placesOf(filepath.Join(root, pkg))
		if err != nil {
			return nil, err
		}
		for _, place := range places {
			all = append(all, candidate{pkg, place})
		}
	}
	return all, nil
}

// show lists the places of each group.
func show(p plan, w io.Writer) error {
	for _, g := range p.groups {
		all, err := candidates(p.root, g)
		if err != nil {
			return err
		}
		for _, c := range all {
			fmt.Fprintln(w, c.place)
		}
	}
	return nil
}
