package nodeprocess

import (
	"maps"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/accelerator"
)

func lookup(env map[string]string) accelerator.Lookup {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestNodeLabels_VariablesTheUserAndTheOverride(t *testing.T) {
	env := map[string]string{
		"RAY_NODE_TYPE_NAME": "big", "RAY_NODE_MARKET_TYPE": "spot", "RAY_NODE_REGION": "eu", "RAY_NODE_ZONE": "", "RAY_OVERRIDE_LABELS": `{"team":"ours","rack":"9"}`,
	}
	c := Config{Labels: map[string]string{"ray.io/market-type": "on-demand", "team": "theirs"}}
	want := map[string]string{"ray.io/node-group": "big", "ray.io/market-type": "on-demand", "ray.io/availability-region": "eu", "team": "ours", "rack": "9"}
	if got, err := c.nodeLabels(lookup(env), accelerators{}); err != nil || !maps.Equal(got, want) {
		t.Errorf("labels %v, %v, want %v", got, err, want)
	}
	if got, err := new(Config).nodeLabels(lookup(nil), accelerators{}); err != nil || len(got) != 0 {
		t.Errorf("without any: %v, %v", got, err)
	}
}

func TestNodeLabels_Wrong_SaysWhere(t *testing.T) {
	for says, env := range map[string]map[string]string{
		"RAY_NODE_ZONE: the value":                   {"RAY_NODE_ZONE": "a b"},
		"RAY_OVERRIDE_LABELS: the name":              {"RAY_OVERRIDE_LABELS": `{"a b":"c"}`},
		"RAY_OVERRIDE_LABELS: \"{\" is not":          {"RAY_OVERRIDE_LABELS": "{"},
		`RAY_OVERRIDE_LABELS: "[1]" is not`:          {"RAY_OVERRIDE_LABELS": "[1]"},
		`RAY_OVERRIDE_LABELS: the label "ray.io/nod`: {"RAY_OVERRIDE_LABELS": `{"ray.io/node-id":"a"}`},
	} {
		if got, err := new(Config).nodeLabels(lookup(env), accelerators{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v gives %v, %v, want an error with %q", env, got, err, says)
		}
	}
	c := Config{Labels: map[string]string{"zone": "x y"}}
	if _, err := c.nodeLabels(lookup(nil), accelerators{}); err == nil || !strings.Contains(err.Error(), `"x y" of the label "zone"`) {
		t.Errorf("a wrong label of the user: %v", err)
	}
}
