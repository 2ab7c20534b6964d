package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestConfigText_FromStandardInput_IsCapped(t *testing.T) {
	if got, err := configText(`{"a": 1}`, nil); got != `{"a": 1}` || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	long := strings.Repeat("x", longConfig)
	if got, err := configText(fromStdin, strings.NewReader(long)); got != long || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	var wrong *badConfig
	if _, err := configText(fromStdin, strings.NewReader(strings.Repeat("x", largeConfig+1))); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

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
