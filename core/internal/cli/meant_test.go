package cli

import (
	"io"
	"strings"
	"testing"
)

func TestMeant_Mistyped_IsSuggested(t *testing.T) {
	for args, want := range map[string]string{
		"start --num-cpu=2":        "did you mean --num-cpus?",
		"start --object-store-mem": "did you mean --object-store-memory?",
		"start --hed":              "did you mean --head?",
		"stop --forse":             "did you mean --force?",
		"statsu":                   "did you mean status?",
		"micro-benchmark":          "did you mean microbenchmark?",
		"xyzzy":                    `"xyzzy"; see`,
	} {
		err := dispatch(strings.Fields(args), "test", io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("eagleray %s: %v, want %q", args, err, want)
		}
	}
}
