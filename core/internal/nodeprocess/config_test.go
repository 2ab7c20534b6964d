package nodeprocess

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSpillConfig_Zero_IsTheLeastAndNotTheDefault(t *testing.T) {
	t.Setenv("RAY_oom_grace_period_s", "0")
	var c spillConfig
	if err := json.Unmarshal([]byte(`{"system_config": {"min_spilling_size": 0, "object_spilling_threshold": 0}}`), &c); err != nil {
		t.Fatal(err)
	}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	if o.MinBytes != 1 || o.Grace != 1 || o.Threshold <= 0 || o.Threshold > 0.001 {
		t.Errorf("%+v", o)
	}
	c.System["min_spilling_size"] = -1.0
	if _, err := c.options(); err == nil || !strings.Contains(err.Error(), `_system_config["min_spilling_size"] is -1`) {
		t.Errorf("%v", err)
	}
}

func TestConfigOptions_NodeName_IsTheAddressUnlessGiven(t *testing.T) {
	for _, name := range []string{"", "trunk"} {
		o, err := (&Config{NodeIP: "10.1.2.3", NodeName: name}).options("/s", nil)
		if want := map[string]string{"": "10.1.2.3", "trunk": "trunk"}[name]; err != nil || o.Name != want {
			t.Errorf("%q: %q, %v", name, o.Name, err)
		}
	}
	if _, err := (&Config{NodeName: "a\nb"}).options("/s", nil); err == nil || !strings.Contains(err.Error(), "printable") {
		t.Errorf("%v", err)
	}
}

// A setting in the list is one that is read: a wrong value of it is refused, or used.
func TestSpillSettings_EachIsRead(t *testing.T) {
	for _, name := range SpillSettings {
		c := spillConfig{System: map[string]any{name: map[string]any{}}}
		if _, err := c.options(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
