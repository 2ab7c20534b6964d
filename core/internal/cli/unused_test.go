package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// said is what start writes to standard error for these arguments.
func said(t *testing.T, args ...string) string {
	flags, err := parseFlags("start", startOptions, args)
	if err != nil {
		t.Fatal(err)
	}
	c, err := startConfig(flags)
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	tellUnused("start", append(unusedGiven(startOptions, flags), unusedSettings(&c)...), &errs)
	return errs.String()
}

func TestTellUnused_OneLineWithEachFlagAndWhy(t *testing.T) {
	got := said(t, "--head", "--num-cpus=1", "--no-monitor", "--dashboard-grpc-port=8265", "--verbose", "--proxy-server-url=h", "--dashboard-port=1", "--object-manager-port=6379", "--no_monitor")
	want := "eagleray: start: flags that have no effect here: --object-manager-port (" + noPorts + "); --dashboard-grpc-port, --proxy-server-url (" + noDashboard + "); --no-monitor (" + noAutoscaler + ")\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestTellUnused_NothingToTell_IsSilent(t *testing.T) {
	for _, args := range [][]string{
		nil,
		{"--head", "--num-cpus=1", "--block", "--labels=a=b", "--node-name=n", "--infeasible=wait", "--temp-dir=/t"},
		{"--log-style=pretty", "--log-color=false", "-v", "--verbose"},
		{"--include-dashboard=false", "--include-dashboard=True", "--no-monitor=false"},
		{`--system-config={"min_spilling_size": 5, "oom_grace_period_s": 1}`},
	} {
		if got := said(t, args...); got != "" {
			t.Errorf("%v: %q", args, got)
		}
	}
}

func TestTellUnused_SettingsWithoutEffect_AreNamed(t *testing.T) {
	got := said(t, "--no-monitor", `--system-config={"max_io_worker": 5, "health_check_period_ms": 1, "x\"y": 1, "max_io_workers": 1, "gcs_rpc_timeout": 2}`)
	const why = "of the settings of --system-config those of spilling, node_timeout and exclusive_actors have an effect"
	want := "eagleray: start: flags that have no effect here: --no-monitor (" + noAutoscaler + `); "gcs_rpc_timeout", "health_check_period_ms", "x\"y" (` + why + `); "max_io_worker" (` + why + " (did you mean max_io_workers?))\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Each of Ray's flags of `ray start` has exactly one of the fates that a flag can have.
func TestStartOptions_EachHasOneFate(t *testing.T) {
	silent := []string{"--log-style", "--log-color", "--verbose"}
	seen := map[string]bool{}
	for _, o := range startOptions {
		fates := 0
		for _, is := range []bool{o.about != "", o.unused != "", slices.Contains(silent, o.name)} {
			if is {
				fates++
			}
		}
		if fates != 1 || seen[o.name] || !strings.HasPrefix(o.name, "--") {
			t.Errorf("%+v", o)
		}
		seen[o.name] = true
	}
	// The parameters of `ray start` in Ray 2.60.0.
	for _, name := range strings.Fields(`node-ip-address address port node-name redis-username redis-password redis-shard-ports object-manager-port
		node-manager-port min-worker-port max-worker-port worker-port-list ray-client-server-port memory object-store-memory num-cpus num-gpus
		resources head include-dashboard dashboard-host dashboard-port dashboard-agent-listen-port dashboard-agent-grpc-port runtime-env-agent-port
		block plasma-directory object-spilling-directory autoscaling-config no-redirect-output temp-dir system-config enable-object-reconstruction
		metrics-export-port no-monitor tracing-startup-hook ray-debugger-external disable-usage-stats labels labels-file include-log-monitor
		enable-resource-isolation system-reserved-cpu system-reserved-memory cgroup-path proxy-server-url log-style log-color verbose`) {
		if !seen["--"+name] {
			t.Errorf("--%s is missing", name)
		}
	}
}

// What KubeRay passes to a head starts it: kuberay's own flags and those that manifests have among rayStartParams.
func TestStartOptions_HeadOfKubeRay_IsAccepted(t *testing.T) {
	flags, err := parseFlags("start", startOptions, []string{
		"--head", "--block", "--dashboard-agent-listen-port=52365", "--dashboard-host=0.0.0.0", "--memory=4294967296", "--metrics-export-port=8080", "--num-cpus=2",
		"--no-monitor", `--resources={"TPU":4}`, "--labels=ray.io/market-type=spot,team=a", "--log-color=false", "--include-dashboard=true", "--include-log-monitor=false",
		"--port=6379", "--ray-client-server-port=10001", "--redis-password=secret", "--object-store-memory=200000000", "--node-ip-address=10.0.0.7", "--dashboard-port=8265",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := startConfig(flags)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(c); err != nil || *c.NumCPUs != 2 || c.Labels["ray.io/market-type"] != "spot" {
		t.Errorf("%+v, %v", c, err)
	}
}

// docs/start.md has a row for each flag, in the part that says what becomes of it.
func TestStartOptions_ThePageListsThem(t *testing.T) {
	text, err := os.ReadFile("../../../docs/start.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?m)^## `).Split(string(text), -1)
	if len(parts) != 3 {
		t.Fatalf("the page has %d parts", len(parts)-1)
	}
	for i, listed := range []func(o option) bool{
		func(o option) bool { return o.about != "" },
		func(o option) bool { return o.about == "" },
	} {
		var want, got []string
		for _, o := range startOptions {
			if listed(o) {
				want = append(want, o.name)
			}
		}
		for _, line := range strings.Split(parts[i+1], "\n") {
			if cell, ok := strings.CutPrefix(line, "| `"); ok {
				cell, _, _ = strings.Cut(cell, "|")
				got = append(got, regexp.MustCompile(`--[a-z-]+`).FindAllString(cell, -1)...)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("part %d of the page lists\n%v\nthe table has\n%v", i+1, got, want)
		}
	}
}

func TestAskedHelp_NamesWhatWorksAndWhatHasNoEffect(t *testing.T) {
	var out bytes.Buffer
	if !askedHelp("start", startOptions, []string{"--head", "-h"}, &out) {
		t.Fatal("not understood")
	}
	for _, want := range []string{"--node-name NAME", "--infeasible WHAT", "\n  " + noAutoscaler + "\n    --autoscaling-config\n    --no-monitor\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
