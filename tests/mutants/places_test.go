package main

import (
	"slices"
	"strings"
	"testing"
)

const sample = `package sample

const bound = 7

var table = map[string]int{"a": 8}

func f(a, b int, on bool) (int, bool) {
	if a < b && on {
		log.Info("a", a+b)
		g(a)
	}
	for i := 0; i < a; i++ {
		a, b = b, a
		continue
	}
	defer g(1)
	c, e := make([]int, 0, a+9), make(map[int]int, 9)
	if planted.Bug {
		g(2)
	}
	var d [5]int
	_, _, _ = c, d, e
	if b == -1 {
		b = -2
	}
	a += 3
	kept = nil
	return a - b, true
}
`

// The list is the whole of it: what is missing is never changed.
func TestPlaces_EachKindOfChange(t *testing.T) {
	places, err := placesIn("sample.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range places {
		got = append(got, strings.TrimPrefix(p.String(), "sample.go:"))
	}
	want := []string{
		"8: condition negated: a < b && on", "8: < becomes <=", "8: && becomes ||", "10: skipped: g(a)",
		"12: 0 becomes 1", "12: condition negated: i < a", "12: < becomes <=", "12: skipped: i++",
		"13: assignment dropped: a, b = b, a", "14: skipped: continue", "16: skipped: defer g(1)", "16: 1 becomes 2",
		"23: condition negated: b == -1", "23: == becomes !=", "24: assignment dropped: b = -2",
		"26: assignment dropped: a += 3", "26: 3 becomes 4", "27: assignment dropped: kept = nil", "28: - becomes +", "28: returns false for true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPlace_Apply_ChangesThePlaceOnly(t *testing.T) {
	places, err := placesIn("sample.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, before, after string }{
		{"condition negated: a < b && on", "if a < b && on {", "if !(a < b && on) {"},
		{"skipped: g(a)", "\tg(a)\n", "\tif false { g(a) }\n"},
		{"skipped: i++", "i < a; i++ {", "i < a;  {"},
		{"assignment dropped: kept = nil", "kept = nil", "{}"},
		{"assignment dropped: a, b = b, a", "a, b = b, a", "_, _ = b, a"},
		{"returns false for true", "return a - b, true", "return a - b, false"},
	} {
		i := slices.IndexFunc(places, func(p place) bool { return p.what == c.what })
		if i < 0 {
			t.Fatalf("no place %q", c.what)
		}
		if got, want := string(places[i].apply([]byte(sample))), strings.Replace(sample, c.before, c.after, 1); got != want {
			t.Errorf("%s: got\n%s", c.what, got)
		}
	}
}

func TestChosen_NamesPackagesAndGroups(t *testing.T) {
	got, err := chosen("core/internal/refs,daemon")
	if err != nil || len(got) != 2 || !slices.Equal(got[0].packages, []string{"core/internal/refs"}) || got[1].name != "daemon" || got[0].wanted != 0.9 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := chosen("core/internal/refs,core/reefs"); err == nil || !strings.Contains(err.Error(), `"core/reefs"`) {
		t.Errorf("got %v", err)
	}
}

func TestPlan_Named_FilesAndLinesOfThePackages(t *testing.T) {
	p := plan{root: lay(t), groups: []group{{packages: []string{"held", "free"}}}, files: []string{"free/free.go"}, at: []string{"held/held.go:3"}}
	if err := p.named(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"text/text.go": "not a source", "held/h_test.go": "not a source", "held.go": "not a source", "held/hold.go": "no such file"} {
		p.files = []string{name}
		if err := p.named(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
