package workers

import (
	"maps"
	"slices"
	"testing"

	"github.com/eagleray/eagleray/core/internal/wire"
)

func TestMergedEnv_VariablesOfTheNode_AreBelowAllOthers(t *testing.T) {
	node := map[string]string{"A": "node", "B": "node", "C": "node", "THREADS": "4", "N": "a\x00"}
	spec := &wire.EnvSpec{
		JobEnv: map[string]string{"B": "job", "THREADS": "1", addedVar: "OTHERS,THREADS"},
		Env:    map[string]string{"C": "spec"},
	}
	if got, want := mergedEnv(spec, node), []string{"A=node", "B=job", "C=spec", addedVar + "=OTHERS,THREADS", "THREADS=1"}; !slices.Equal(got, want) {
		t.Errorf("a zygote starts with %q, want %q", got, want)
	}
	// Of a variable that the zygote needs at its start, user code sees the node's value.
	if got, want := nodeEnv(node, spec), map[string]string{"A": "node", "THREADS": "4"}; !maps.Equal(got, want) {
		t.Errorf("user code sees %q of the node, want %q", got, want)
	}
	spec.JobEnv[addedVar] = ""
	if got, want := nodeEnv(node, spec), map[string]string{"A": "node"}; !maps.Equal(got, want) {
		t.Errorf("with a value of the driver's, user code sees %q of the node, want %q", got, want)
	}
}
