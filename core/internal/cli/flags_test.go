package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestParseFlags_RayForms_AreUnderstood(t *testing.T) {
	got, err := parseFlags("start", startOptions, strings.Fields(
		"--head --num-cpus 3 --num_gpus=2 --block=false --no-monitor --dashboard-host=0.0.0.0 --metrics-export-port=8080 --resources={\"a\":1} -v"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"--head": "true", "--num-cpus": "3", "--num-gpus": "2", "--block": "", "--resources": `{"a":1}`} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestParseFlags_Wrong_SaysWhat(t *testing.T) {
	for args, words := range map[string]string{
		"--heads":         "unknown flag --heads",
		"head":            `unexpected argument "head"`,
		"--num-cpus":      "--num-cpus needs a value",
		"--head=maybe":    "--head takes no value",
		"--address=h:1":   "several machines",
		"--labels-file=f": "use --labels",
	} {
		_, err := parseFlags("start", startOptions, []string{args})
		if args == "--address=h:1" {
			words = "joining other machines comes with a later version"
		}
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", args, err, words)
		}
	}
}

func TestStartConfig_Values_AreChecked(t *testing.T) {
	for flag, words := range map[string]string{
		"--num-cpus=x":             `"x" is not a number`,
		"--num-gpus=-1":            `"-1" is not a number`,
		"--resources=nonsense":     "is not a JSON object",
		`--resources={"CPU":1}`:    "CPU is given with --num-cpus",
		`--resources={"a":-1}`:     "a is negative",
		"--num-gpus=nan":           `"nan" is not a number`,
		"--num-gpus=inf":           `"inf" is not a number`,
		"--num-gpus=":              `"" is not a number`,
		"--num-gpus=1.5":           `--num-gpus: "1.5" is not a whole number of devices`,
		`--resources={"TPU":0.5}`:  "TPU is 0.5, must be a whole number of devices",
		"--labels=plain":           `"plain" is not key=value`,
		"--object-store-memory=1G": `"1G" is not a number`,

		"--object-store-memory=1125899906842624": "--object-store-memory: 1125899906842624 is too large",
		"--memory=1e18":                          "--memory: 1e18 is too large",
		`--resources={"memory":5}`:               "memory is given with --memory",
		`--resources={"object_store_memory":5}`:  "object_store_memory is given with --object-store-memory",
	} {
		flags, err := parseFlags("start", startOptions, []string{flag})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := startConfig(flags); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", flag, err, words)
		}
	}
	c, err := startConfig(map[string]string{"--num-cpus": "2.5", "--memory": "1000", "--labels": "a=b,c=d=e"})
	if err != nil || *c.NumCPUs != 2.5 || *c.Memory != 1000 || c.Labels["c"] != "d=e" || c.NumGPUs != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestDispatch_UnknownAndHelp(t *testing.T) {
	var out bytes.Buffer
	if err := dispatch([]string{"--help"}, "test", &out); err != nil || !strings.Contains(out.String(), "status") || strings.Contains(out.String(), "daemon ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	var wrong *usageError
	if err := dispatch([]string{"dance"}, "test", &out); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

func TestCurrentSession_ForeignPath_IsRefused(t *testing.T) {
	base := t.TempDir()
	if _, err := currentSession(base); !errors.Is(err, errNoCluster) {
		t.Errorf("%v", err)
	}
	if err := setCurrent(base, base+"/s-1"); err != nil {
		t.Fatal(err)
	}
	if dir, err := currentSession(base); err != nil || dir != base+"/s-1" {
		t.Errorf("%q, %v", dir, err)
	}
	clearCurrent(base, base+"/s-2")
	if _, err := currentSession(base); err != nil {
		t.Errorf("another session's end cleared it: %v", err)
	}
	if err := os.WriteFile(currentFile(base), []byte("/etc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := currentSession(base); err == nil {
		t.Error("a path outside of the base was taken")
	}
}

func TestMain_ExitStatus(t *testing.T) {
	for args, want := range map[string]struct {
		status    int
		out, errs string
	}{
		"--version":  {0, "1.2.3\n", ""},
		"version":    {0, "1.2.3\n", ""},
		"dance":      {2, "", `unknown command "dance"`},
		"stop later": {2, "", "later"},
	} {
		var out, errs bytes.Buffer
		if status := Main(strings.Fields(args), "1.2.3", &out, &errs); status != want.status || out.String() != want.out || !strings.Contains(errs.String(), want.errs) {
			t.Errorf("%q: status %d, output %q, errors %q", args, status, out.String(), errs.String())
		}
	}
}
