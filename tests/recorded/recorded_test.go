package recorded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told is a test that notes what it is told.
type told struct {
	testing.TB
	errors []string
}

func (x *told) Helper()                      {}
func (x *told) Errorf(f string, args ...any) { x.errors = append(x.errors, fmt.Sprintf(f, args...)) }

// A frame that differs, is missing or is new is told of; frames of others are not looked at.
func TestCompare_EachDifference(t *testing.T) {
	file := filepath.Join(t.TempDir(), "frames")
	if err := os.WriteFile(file, []byte("task-a 01\nreply-b 02\ntask-c 03\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, x := range map[string]struct {
		frames map[string]byte
		want   string
	}{
		"the same":  {map[string]byte{"task-a": 1, "task-c": 3}, ""},
		"different": {map[string]byte{"task-a": 1, "task-c": 4}, "another form: task-c 04"},
		"missing":   {map[string]byte{"task-a": 1}, "2 frames are recorded, and 1 were written"},
		"new":       {map[string]byte{"task-a": 1, "task-c": 3, "task-d": 5}, "another form: task-d 05"},
	} {
		test := &told{TB: t}
		r := Frames{T: test}
		for name, b := range x.frames {
			r.Add(name, []byte{b})
		}
		r.Compare(file, OfCaller)
		if got := strings.Join(test.errors, "; "); x.want == "" && got != "" || !strings.Contains(got, x.want) {
			t.Errorf("%s: told was %q, want %q", what, got, x.want)
		}
	}
}

func TestAdd_NothingWritten_IsTold(t *testing.T) {
	test := &told{TB: t}
	(&Frames{T: test}).Add("task", nil)
	if len(test.errors) != 1 {
		t.Errorf("told was %q", test.errors)
	}
}
