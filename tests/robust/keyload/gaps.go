package main

import (
	"math"
	"slices"
	"strings"
)

// blow is what was done to the cluster.
type blow struct {
	Kind string `json:"kind"`
	At   int64  `json:"at"` // ns
	Over int64  `json:"over"`
}

// report says how long no write was acknowledged.
type report struct {
	Quiet float64           `json:"quiet_ms"` // the longest time before the first blow
	Kinds map[string]figure `json:"kinds"`
	Blows []gap             `json:"blows"`
}

// gap is the longest time, from just before a blow until the next one, without an acknowledged write.
type gap struct {
	Kind string `json:"kind"`
	At   int64  `json:"at"` // of the blow, in ns
	// All is the gap of all programs together, and Worst that of the program with the longest one.
	All   float64 `json:"all_ms"`
	Worst float64 `json:"worst_ms"`
}

// figure is what the gaps of a kind of blow are, in ms.
type figure struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
	// WorstP50 and WorstMax are those of the program with the longest gap.
	WorstP50 float64 `json:"worst_p50_ms"`
	WorstMax float64 `json:"worst_max_ms"`
}

func gaps(all []call, blows []blow) *report {
	ends := map[string][]int64{} // "" are all programs
	for i := range all {
		if c := &all[i]; c.writes() && c.Outcome == done {
			program, _, _ := strings.Cut(c.Client, ".")
			ends[program] = append(ends[program], c.End)
			ends[""] = append(ends[""], c.End)
		}
	}
	for _, list := range ends {
		slices.Sort(list)
	}
	r := &report{Kinds: map[string]figure{}}
	slices.SortFunc(blows, func(a, b blow) int { return int(a.At - b.At) })
	until := int64(math.MaxInt64)
	if len(blows) > 0 {
		until = blows[0].At
	}
	r.Quiet = longest(ends[""], math.MinInt64, until)
	byKind := map[string][]gap{}
	for i, b := range blows {
		until := int64(math.MaxInt64)
		if i+1 < len(blows) {
			until = blows[i+1].At
		}
		g := gap{Kind: b.Kind, At: b.At, All: longest(ends[""], b.At, until)}
		for program, list := range ends {
			if program != "" {
				g.Worst = max(g.Worst, longest(list, b.At, until))
			}
		}
		r.Blows = append(r.Blows, g)
		byKind[b.Kind] = append(byKind[b.Kind], g)
	}
	for kind, list := range byKind {
		var all, worst []float64
		for _, g := range list {
			all, worst = append(all, g.All), append(worst, g.Worst)
		}
		r.Kinds[kind] = figure{len(list), share(all, 0.5), share(all, 0.99), share(all, 1), share(worst, 0.5), share(worst, 1)}
	}
	return r
}

// longest returns the longest time in ms between two neighbours of which the second one lies between from and until. The time in which until
// lies belongs to what happens then.
func longest(ends []int64, from, until int64) (ms float64) {
	i, _ := slices.BinarySearch(ends, from)
	for i = max(i, 1); i < len(ends); i++ {
		if ends[i] >= until {
			break
		}
		ms = max(ms, float64(ends[i]-ends[i-1])/1e6)
	}
	return ms
}

// share returns the value that a share of the list does not exceed.
func share(list []float64, part float64) float64 {
	slices.Sort(list)
	return list[max(0, int(math.Ceil(part*float64(len(list))))-1)]
}
