package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is one key as the model sees it. Versions grow, so a version that nobody was told is larger than the last one that is known.
type register struct {
	there   bool
	value   string
	version uint64 // of the key; if it is not exact, or the key is not there: the version is larger than this one
	exact   bool
}

// may reports whether the key can have a version, and returns the key with it.
func (r register) may(version uint64) (register, bool) {
	if !r.there || r.exact && version != r.version || !r.exact && version <= r.version {
		return r, false
	}
	r.version, r.exact = version, true
	return r, true
}

// step returns what the key can be after a call. Nothing means that the answer is wrong.
func step(r register, c *call) (after []register) {
	add := func(r register, ok bool) {
		if ok {
			after = append(after, r)
		}
	}
	written := func(old register, ok bool) {
		if c.Outcome == unknown {
			add(register{there: true, value: c.Value, version: old.version}, ok)
		} else {
			add(register{there: true, value: c.Value, version: c.Version, exact: true}, ok && c.Version > old.version)
		}
	}
	gone := func(old register, ok bool) { add(register{version: old.version}, ok) }
	matches := func() (register, bool) { // the version is the expected one
		if c.Expected == 0 {
			return r, !r.there
		}
		return r.may(c.Expected)
	}
	switch {
	case c.Outcome == conflict && c.Version == 0:
		add(r, !r.there && c.Expected != 0)
	case c.Outcome == conflict:
		as, ok := r.may(c.Version)
		add(as, ok && c.Version != c.Expected)
	case c.Verb == get && c.Outcome == none:
		add(r, !r.there)
	case c.Verb == get:
		as, ok := r.may(c.Version)
		add(as, ok && r.value == c.Read)
	case c.Verb == put:
		written(r, true)
	case c.Verb == del:
		gone(r, true)
	default:
		as, ok := matches()
		if c.Verb == swap {
			written(as, ok)
		} else {
			gone(as, ok)
		}
		if c.Outcome == unknown && !(ok && r.exact) {
			add(r, true) // it may have been refused
		}
	}
	return after
}

var model = func() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{register{}} },
		Step: func(state, input, _ any) (after []any) {
			for _, r := range step(state.(register), input.(*call)) {
				after = append(after, r)
			}
			return after
		},
	}
	return m.ToModel()
}()

// verdict is what judge finds.
type verdict struct {
	Calls     int      `json:"calls"`
	Writes    int      `json:"writes"` // acknowledged ones
	Unknown   int      `json:"unknown"`
	Undone    int      `json:"undone"`
	Keys      int      `json:"keys"` // each is a history of its own
	Undecided int      `json:"undecided"`
	Seconds   float64  `json:"seconds"` // from the first call to the last answer
	Wrong     []string `json:"wrong"`
	Whys      []string `json:"whys"` // some reasons of calls whose outcome is unknown, or that were not made
	Gaps      *report  `json:"gaps,omitempty"`
}

// judgeLimit is how long Porcupine may think about a key.
const judgeLimit = 60 * time.Second

// judge checks all calls.
func judge(all []call) *verdict {
	v := &verdict{Calls: len(all), Wrong: order(all)}
	keys := map[string][]porcupine.Operation{}
	whys := map[string]bool{}
	first, last := int64(math.MaxInt64), int64(0)
	for i := range all {
		c := &all[i]
		first, last = min(first, c.Begin), max(last, c.End)
		o := porcupine.Operation{Input: c, Call: c.Begin, Return: c.End}
		switch c.Outcome {
		case undone:
			v.Undone++
			whys[plain(c)] = true
			continue
		case unknown:
			v.Unknown++
			whys[plain(c)] = true
			o.Return = math.MaxInt64 // it may take effect at any later time
		case done:
			if c.writes() {
				v.Writes++
			}
		}
		keys[c.Key] = append(keys[c.Key], o)
	}
	v.Keys, v.Seconds = len(keys), float64(max(0, last-first))/1e9
	for w := range whys {
		v.Whys = append(v.Whys, w)
	}
	slices.Sort(v.Whys)
	v.Whys = v.Whys[:min(len(v.Whys), 10)]
	for key, part := range keys {
		switch porcupine.CheckOperationsTimeout(model, part, judgeLimit) {
		case porcupine.Illegal:
			v.Wrong = append(v.Wrong, fmt.Sprintf("no order of these calls explains their answers (key %s):\n%s", key, table(part)))
		case porcupine.Unknown:
			v.Undecided++
		}
	}
	return v
}

// plain is a reason without the key that it names.
func plain(c *call) string {
	return string(c.Outcome) + " " + strings.ReplaceAll(c.Why, fmt.Sprintf("%q", c.Key), "…")
}

func table(part []porcupine.Operation) string {
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range part {
		fmt.Fprintf(&b, "  %s\n", o.Input.(*call))
	}
	return b.String()
}

// order checks that no version is given twice, and that a write that begins after another one has ended has a larger version, whatever their keys are.
func order(all []call) (wrong []string) {
	var writes []*call
	for i := range all {
		if c := &all[i]; c.Outcome == done && (c.Verb == put || c.Verb == swap) {
			writes = append(writes, c)
		}
	}
	byEnd := slices.Clone(writes)
	slices.SortFunc(writes, func(a, b *call) int { return int(a.Begin - b.Begin) })
	slices.SortFunc(byEnd, func(a, b *call) int { return int(a.End - b.End) })
	given := map[uint64]*call{}
	var before *call // of those that have ended: that with the largest version
	for _, c := range writes {
		for len(byEnd) > 0 && byEnd[0].End < c.Begin {
			if before == nil || byEnd[0].Version > before.Version {
				before = byEnd[0]
			}
			byEnd = byEnd[1:]
		}
		if before != nil && before.Version >= c.Version {
			wrong = append(wrong, fmt.Sprintf("versions do not grow:\n  %s\n  %s", before, c))
		}
		if other := given[c.Version]; other != nil {
			wrong = append(wrong, fmt.Sprintf("a version was given twice:\n  %s\n  %s", other, c))
		}
		given[c.Version] = c
	}
	return wrong
}
