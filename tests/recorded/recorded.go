// Package recorded compares the frames that a test makes with those that were recorded once, so
// that the wire format changes on purpose only.
package recorded

import (
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var record = flag.Bool("record-frames", false, "write the test's frames anew where they are recorded; only when the wire format is meant to change")

// Frames are frames that a test has made, each with a name.
type Frames struct {
	T     testing.TB
	lines []string
}

// Add adds a frame, of which there is at least one byte.
func (r *Frames) Add(name string, b []byte) {
	r.T.Helper()
	if len(b) == 0 {
		r.T.Errorf("%s: nothing was written", name)
	}
	r.lines = append(r.lines, name+" "+hex.EncodeToString(b))
}

// Compare compares the frames with those that a file records and for whose names mine holds. The file has one frame a
// line: its name, a space and its bytes in hexadecimal. With -record-frames the frames are written there first.
func (r *Frames) Compare(file string, mine func(name string) bool) {
	r.T.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		r.T.Fatal(err)
	}
	isMine := func(line string) bool {
		name, _, _ := strings.Cut(line, " ")
		return mine(name)
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	others := slices.DeleteFunc(slices.Clone(all), isMine)
	recorded := slices.DeleteFunc(all, func(line string) bool { return !isMine(line) })
	if *record {
		recorded = r.lines
		text := strings.Join(slices.Concat(others, recorded), "\n") + "\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			r.T.Fatal(err)
		}
	}
	for _, line := range r.lines {
		if !slices.Contains(recorded, line) {
			r.T.Errorf("this frame was recorded in another form: %s", line)
		}
	}
	if len(recorded) != len(r.lines) {
		r.T.Errorf("%d frames are recorded, and %d were written", len(recorded), len(r.lines))
	}
}

// OfCaller reports whether a frame of this name is one that callers write. Workers write the others.
func OfCaller(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return slices.Contains([]string{"template", "task", "constructor", "forget", "taken", "quit"}, kind)
}
