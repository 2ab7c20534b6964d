package workers

import (
	"slices"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestZygote_OfAGoProgram_IsStartedAndNamedAsOne(t *testing.T) {
	of := &wire.EnvSpec{Python: "/a/program", Env: map[string]string{wire.GoWorkerVar: "zygote"}}
	if got := zygoteArgs(of); !slices.Equal(got, []string{"/a/program"}) {
		t.Errorf("its arguments are %q", got)
	}
	if startLimit(of) != goStartLimit {
		t.Errorf("it has %v to become ready", startLimit(of))
	}
	for _, text := range []string{lateText(of), endedText(of)} {
		if !strings.Contains(text, "/a/program") || !strings.Contains(text, "core/worker") {
			t.Errorf("%q says neither which program nor what to do", text)
		}
	}
	python := &wire.EnvSpec{Python: "python3", Env: map[string]string{"A": "B"}}
	if got := zygoteArgs(python); len(got) != 4 || got[2] != zygoteModule {
		t.Errorf("an interpreter's arguments are %q", got)
	}
	if startLimit(python) != ImportLimit || strings.Contains(endedText(python)+lateText(python), "Go") {
		t.Error("an interpreter counts as a Go program")
	}
}
