package cli

import (
	"encoding/json"
	"testing"

	"github.com/eagleray/eagleray/core/internal/nodeprocess"
)

// Whatever the flags of start are, they are a configuration or an error.
func FuzzStart(f *testing.F) {
	f.Add("--num-cpus", "1e400", `{"a": 1}`)
	f.Add("--memory", "1e300", `{"a": 1e300}`)
	f.Add("--labels", "a=b,=", `{"GPU": 0.5}`)
	f.Add("--gpu-memory", "16GiB,,", `[]`)
	f.Add("--system-config", `{"x": {"y": []}}`, `null`)
	f.Fuzz(func(t *testing.T, name, value, resources string) {
		flags, err := parseFlags("start", startOptions, []string{name, value, "--resources=" + resources})
		if err != nil {
			return
		}
		c, err := startConfig(flags)
		if err != nil {
			return
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("%+v cannot be handed to the daemon: %v", c, err)
		}
		var again nodeprocess.Config
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%s is not understood by the daemon: %v", text, err)
		}
	})
}
