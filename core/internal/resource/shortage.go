package resource

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// TypePrefix begins the resources that say of which type a node's accelerators are.
const TypePrefix = "accelerator_type:"

// maxListed bounds how many names a message lists.
const maxListed = 8

// Shortage explains what of need exceeds totals, so that it can never be met,
// and names the nearest thing that exists: "GPU: asked 2, the cluster has at
// most 1". It is empty when all fits.
func Shortage(need, totals Set) string {
	var short []string
	for _, name := range sortedNames(need) {
		asked, have := need[name], totals[name]
		kind, isType := strings.CutPrefix(name, TypePrefix)
		switch {
		case asked <= have || asked <= 0:
		case have > 0:
			short = append(short, fmt.Sprintf("%s: asked %s, the cluster has at most %s", name, asked, have))
		case isType:
			short = append(short, fmt.Sprintf("accelerator type %s: the cluster has none%s", kind, nearestType(kind, totals)))
		default:
			short = append(short, fmt.Sprintf("%s: asked %s, the cluster has none%s", name, asked, nearest(name, totals)))
		}
	}
	return strings.Join(short, "; ")
}

// nearestType says which types of accelerators there are instead of kind.
func nearestType(kind string, totals Set) string {
	var kinds []string
	for _, name := range sortedNames(totals) {
		if k, ok := strings.CutPrefix(name, TypePrefix); ok && totals[name] > 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return fmt.Sprintf(", and of no accelerator it knows the type; a node declares it with resources={%q: 1}", TypePrefix+kind)
	}
	if like := alike(kind, kinds); like != "" {
		return fmt.Sprintf(" (did you mean %q?)", like)
	}
	return " (it has " + listed(kinds) + ")"
}

// nearest says what there is instead of a resource that is nowhere.
func nearest(name string, totals Set) string {
	var names, amounts []string
	for _, other := range sortedNames(totals) {
		if totals[other] <= 0 || isCommon(other) {
			continue
		}
		names = append(names, other)
		amounts = append(amounts, other+": "+totals[other].String())
	}
	if like := alike(name, names); like != "" {
		return fmt.Sprintf(" (did you mean %q?)", like)
	}
	if len(names) == 0 || isCommon(name) {
		return ""
	}
	return " (it has " + listed(amounts) + ")"
}

// isCommon reports whether a resource is one that every node has, or its type's.
func isCommon(name string) bool {
	return name == CPU || name == Marker || name == "memory" || name == GPUMemory || name == "object_store_memory" || strings.HasPrefix(name, "node:") || strings.HasPrefix(name, TypePrefix)
}

func listed(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// alike returns the name that was probably meant, "" if there is none: the same
// but for case, separators and a plural, the same with words before or after it, or the
// same but for a few letters. Other digits make another thing: a V100 is not a
// misspelt A100.
func alike(asked string, names []string) string {
	words := wordsOf(asked)
	for _, same := range []func(other []string) bool{
		func(other []string) bool { return singular(words) == singular(other) },
		func(other []string) bool { return within(words, other) || within(other, words) },
		func(other []string) bool {
			a, b := strings.Join(words, ""), strings.Join(other, "")
			return digits(a) == digits(b) && distance(a, b) <= len(a)/5
		},
	} {
		if i := slices.IndexFunc(names, func(n string) bool { return same(wordsOf(n)) }); i >= 0 {
			return names[i]
		}
	}
	return ""
}

// wordsOf splits a name at everything that is no letter or digit.
func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func singular(words []string) string { return strings.TrimSuffix(strings.Join(words, ""), "s") }

// within reports whether all words of b follow each other in a.
func within(a, b []string) bool {
	if len(b) == 0 {
		return false
	}
	for i := 0; i+len(b) <= len(a); i++ {
		if slices.Equal(a[i:i+len(b)], b) {
			return true
		}
	}
	return false
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// distance is how many bytes must be inserted, removed or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
