package accelerator

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

//go:generate go test -run ^TestPythonTable . -update

var update = flag.Bool("update", false, "rewrite the Python package's table")

const pythonTable = "../../../python/eagleray/_private/families.py"

func TestPythonTable_SaysWhatTheRegistrySays(t *testing.T) {
	var b strings.Builder
	b.WriteString(`"""The families of accelerators. Generated from core/internal/accelerator by "make gen": change it there."""

from __future__ import annotations

#: Accelerators by resource name: None where fractions of one device are allowed, else the counts that are (() for any
#: whole number).
ACCELERATORS: dict[str, tuple[int, ...] | None] = {
`)
	var seen []string
	for _, f := range families {
		if slices.Contains(seen, f.Resource) {
			continue
		}
		seen = append(seen, f.Resource)
		counts := "None"
		if !f.Fractions {
			counts = "(" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(f.Counts), "[]")), ", ") + ")"
		}
		fmt.Fprintf(&b, "    %q: %s,\n", f.Resource, counts)
	}
	b.WriteString("}\n")
	if *update {
		if err := os.WriteFile(pythonTable, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pythonTable)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is not what the registry says (%v): run make gen", pythonTable, err)
	}
}

// Families that share a resource name must agree on how it is counted: which of
// them a node has is not known when a request is checked.
func TestFamilies_OneResource_OneRule(t *testing.T) {
	for _, f := range families {
		if g := ofResource(f.Resource); f.Fractions != g.Fractions || !slices.Equal(f.Counts, g.Counts) {
			t.Errorf("%s and %s count %s differently", f.Name, g.Name, f.Resource)
		}
		if f.Name != strings.ToLower(f.Name) || f.detect == nil || len(f.Vars) == 0 {
			t.Errorf("%s: a family has a name in small letters, a variable and a way to be detected", f.Name)
		}
	}
}
