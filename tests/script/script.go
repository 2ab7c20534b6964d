// Package script plays text scripts for tests of state machines. A line of a script at the margin is
// an event, and the indented lines after it are the effects that the event must have, in order. Empty
// lines and lines that begin with # say nothing to the machine. With -update the effects that the
// events had are written into the scripts.
//
// The package imports nothing of the project, so that the tests of every package can use it.
package script

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what happened into the scripts of this package's tests")

// Run runs a subtest for each script in testdata. play returns the trace of a script: its lines and
// their effects, as Trace does. The test fails when the trace differs from the script.
func Run(t *testing.T, play func(t *testing.T, src string) (trace string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			Compare(t, file, play(t, string(src)))
		})
	}
}

// Compare fails the test where a trace leaves the one that a file has. With -update it writes the trace into the file.
func Compare(t testing.TB, file, trace string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(trace), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if where := difference(trace, string(recorded)); where != "" {
		t.Errorf("%s: the trace differs; run with -update and look at the change.\n%s", file, where)
	}
}

// Trace gives each event of a script to do, and returns the script with the effects that do returned.
func Trace(t testing.TB, src string, do func(e *Event) (effects []string)) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, effect := range do(NewEvent(t, line)) {
			out.WriteString("  " + effect + "\n")
		}
	}
	return out.String()
}
