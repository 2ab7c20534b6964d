package nodeprocess

import (
	"strings"
	"testing"
)

func TestOverridden_VariablesCountMoreThanWhatIsDeclared(t *testing.T) {
	two := 2.0
	declared := Config{NumCPUs: &two, Resources: map[string]float64{"disk": 3, "tape": 3}}
	env := map[string]string{"RAY_OVERRIDE_RESOURCES": `{"CPU": 5, "GPU": 1, "disk": 1, "memory": 1e9, "object_store_memory": 2e9, "extra": 4}`}
	c, err := declared.overridden(lookup(env))
	if err != nil {
		t.Fatal(err)
	}
	if *c.NumCPUs != 5 || *c.NumGPUs != 1 || *c.Memory != 1e9 || *c.ObjectStoreMemory != 2e9 {
		t.Errorf("got %v CPUs, %v GPUs, %v and %v bytes", *c.NumCPUs, *c.NumGPUs, *c.Memory, *c.ObjectStoreMemory)
	}
	if len(c.Resources) != 3 || c.Resources["disk"] != 1 || c.Resources["tape"] != 3 || c.Resources["extra"] != 4 {
		t.Errorf("got the resources %v", c.Resources)
	}
	if *declared.NumCPUs != 2 || len(declared.Resources) != 2 || declared.Resources["disk"] != 3 {
		t.Errorf("the declared configuration has changed: %v", declared.Resources)
	}
	env["EAGLERAY_OVERRIDE_RESOURCES"] = `{"CPU": 7}`
	if c, err = declared.overridden(lookup(env)); err != nil || *c.NumCPUs != 7 || c.NumGPUs != nil {
		t.Errorf("both variables are set: got %v, %v", *c.NumCPUs, err)
	}
}

func TestOverridden_BadTextsAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"nonsense":            "is not a JSON object of numbers",
		"null":                "is not a JSON object of numbers",
		`{"disk": "2"}`:       "is not a JSON object of numbers",
		`{"disk": -1}`:        "disk is -1, must not be negative",
		`{"": 1}`:             "a resource has no name",
		`{"GPU": 0.5}`:        "GPU is 0.5, must be a whole number of devices",
		`{"memory": 1e300}`:   "memory is 1e+300 bytes: at most",
		`{"gpu_memory": 1e9}`: "gpu_memory cannot be overridden",
	} {
		_, err := Config{}.overridden(lookup(map[string]string{"RAY_OVERRIDE_RESOURCES": text}))
		if err == nil || !strings.Contains(err.Error(), "RAY_OVERRIDE_RESOURCES") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
