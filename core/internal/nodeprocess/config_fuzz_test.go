package nodeprocess

import (
	"encoding/json"
	"log/slog"
	"testing"
)

// Whatever the configuration says, it is options or an error.
func FuzzConfig(f *testing.F) {
	f.Add(`{"num_cpus": 2, "resources": {"a": 1.5, "GPU": 2}, "gpu_memory": [16], "labels": {"k": "v"}}`)
	f.Add(`{"num_cpus": 1e308, "num_gpus": -0.0, "memory": 18446744073709551615, "object_store_memory": 1}`)
	f.Add(`{"system": {"object_spilling_config": "{\"type\": \"filesystem\", \"params\": {\"directory_path\": [\"/a\", 5]}}"}}`)
	f.Add(`{"system": {"memory_usage_threshold": "nan", "object_spilling_threshold": [], "max_io_workers": -1}}`)
	f.Add(`null`)
	f.Add(`{"resources": {"": 1, "GPU": 1e300}}`)
	log := slog.New(slog.DiscardHandler)
	f.Fuzz(func(t *testing.T, text string) {
		var c Config
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		o, err := c.options("/tmp/x", log)
		if err == nil {
			err = o.Check()
		}
		_ = err // either is fine, a panic is not
	})
}
