package main

import (
	"fmt"
	"io"
	"strings"
)

// rate counts what the tests of a group made of its changes.
type rate struct {
	group     group
	tried     int
	noticed   int
	unreached int // of those that survived
	survivors []place
}

func (r rate) share() float64 { return float64(r.noticed) / float64(max(1, r.tried)) }

// enough says whether the tests notice as much as is wanted of the group.
func (r rate) enough() bool { return r.share() >= r.group.wanted }

// report prints the rate of each group and its survivors.
func report(w io.Writer, rates []rate) {
	for _, r := range rates {
		if r.tried == 0 {
			continue
		}
		verdict := "enough"
		if !r.enough() {
			verdict = "too few"
		}
		fmt.Fprintf(w, "%-20s %3d of %3d changes noticed, %5.1f %% (wanted %.0f %%): %s; of %d survivors no test reaches %d\n",
			r.group.name, r.noticed, r.tried, 100*r.share(), 100*r.group.wanted, verdict, len(r.survivors), r.unreached)
	}
	for _, r := range rates {
		if len(r.survivors) > 0 {
			fmt.Fprintf(w, "\n%s: survivors\n%s\n", r.group.name, strings.Repeat("-", 40))
		}
		for _, p := range r.survivors {
			fmt.Fprintln(w, p)
		}
	}
}
