package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/eagleray/eagleray/core/internal/nodeprocess"
)

func TestStartConfig_Wrong_SaysWhat(t *testing.T) {
	for flag, words := range map[string]string{
		"--num-cpus=x":             `--num-cpus: "x" is not a number`,
		"--num-gpus=-1":            `--num-gpus: "-1" is not a number`,
		"--num-gpus=nan":           `"nan" is not a number`,
		"--num-gpus=inf":           `"inf" is not a number`,
		"--num-gpus=":              `"" is not a number`,
		"--num-gpus=1.5":           `--num-gpus: "1.5" is not a whole number of devices`,
		"--object-store-memory=1G": `--object-store-memory: "1G" is not a number`,
		"--gpu-memory=16G":         `--gpu-memory: "16G" is not a size`,

		"--object-store-memory=1125899906842624": "--object-store-memory: 1125899906842624 is too large",
		"--memory=1e18":                          "--memory: 1e18 is too large",

		"--resources=nonsense":                  `--resources: "nonsense" is not a JSON object: invalid character`,
		"--resources=":                          `--resources: "" is not a JSON object`,
		"--resources=null":                      `"null" is not a JSON object: it is null; what is expected looks like '{"name": 4}'`,
		"--resources=[1]":                       `"[1]" is not a JSON object`,
		`--resources={"a":1} x`:                 "is not a JSON object",
		`--resources={"a":1e999}`:               "is not a JSON object",
		`--resources={"a":"4"}`:                 `--resources: a is "4", must be a number`,
		`--resources={"a":null}`:                "--resources: a is null, must be a number",
		`--resources={"":1}`:                    "--resources: a resource has no name",
		`--resources={"CPU":1}`:                 "CPU is given with --num-cpus",
		`--resources={"GPU":1}`:                 "GPU is given with --num-gpus",
		`--resources={"memory":5}`:              "memory is given with --memory",
		`--resources={"object_store_memory":5}`: "object_store_memory is given with --object-store-memory",
		`--resources={"gpu_memory":5}`:          "gpu_memory is given with --gpu-memory",
		`--resources={"a":-1}`:                  "a is negative",
		`--resources={"TPU":0.5}`:               "TPU is 0.5, must be a whole number of devices",
		`--resources={"` + strings.Repeat("n", maxResourceName+1) + `":1}`: "the name of a resource has 65537 bytes, at most 65536 are allowed",

		"--system-config=5":    `--system-config: "5" is not a JSON object`,
		"--system-config=null": `--system-config: "null" is not a JSON object`,

		"--min-worker-port=20 --max-worker-port=10": "--max-worker-port: 10 is less than --min-worker-port, which is 20",
	} {
		args := []string{flag}
		if strings.HasPrefix(flag, "--min") {
			args = strings.Fields(flag)
		}
		flags, err := parseFlags("start", startOptions, args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := startConfig(flags); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.60s: %v, want %q", flag, err, words)
		}
	}
}

func TestStartConfig_Right_IsPassedOn(t *testing.T) {
	flags, err := parseFlags("start", startOptions, []string{
		"--num-cpus=2.5", "--num-gpus", "1", "--memory=1000", "--object-store-memory=1e8", "--gpu-memory=16GiB", "--labels", "a=b,c=d",
		`--resources={"disk": 1.5, "TPU": 4}`, `--system-config={"max_io_workers": 2}`, "--object-spilling-directory=/spill", "--infeasible=wait",
		"--node-name=trunk", "--node-ip-address=10.1.2.3", "--min-worker-port=10", "--max-worker-port=10", "--port=6379",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := startConfig(flags)
	if err != nil {
		t.Fatal(err)
	}
	cpus, gpus, memory, store := 2.5, 1.0, uint64(1000), uint64(1e8)
	want := nodeprocess.Config{
		NumCPUs: &cpus, NumGPUs: &gpus, Memory: &memory, ObjectStoreMemory: &store, GPUMemory: []int64{16 << 30}, Labels: map[string]string{"a": "b", "c": "d"},
		Resources: map[string]float64{"disk": 1.5, "TPU": 4}, Infeasible: "wait", NodeName: "trunk", NodeIP: "10.1.2.3",
	}
	want.Directory, want.System = "/spill", map[string]any{"max_io_workers": 2.0}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, err := startConfig(nil); err != nil || !reflect.DeepEqual(got, nodeprocess.Config{}) {
		t.Errorf("without flags: %+v, %v", got, err)
	}
}

func TestStartConfig_InfeasibleInTheEnvironment_CountsAfterTheFlag(t *testing.T) {
	t.Setenv(infeasibleVar, "wait")
	for flag, want := range map[string]string{"": "wait", "raise": "raise"} {
		flags := map[string]string{"--infeasible": flag}
		if flag == "" {
			flags = nil
		}
		if c, err := startConfig(flags); err != nil || c.Infeasible != want {
			t.Errorf("%q: %q, %v", flag, c.Infeasible, err)
		}
	}
	t.Setenv(infeasibleVar, "sometimes")
	if _, err := startConfig(nil); err == nil || !strings.Contains(err.Error(), `EAGLERAY_INFEASIBLE: "sometimes" is not possible, must be raise or wait`) {
		t.Errorf("%v", err)
	}
}
