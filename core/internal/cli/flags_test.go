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
		"--heads":                                 "unknown flag --heads (did you mean --head?)",
		"--num-cpu=3":                             "unknown flag --num-cpu (did you mean --num-cpus?)",
		"--quite-unlike-anything":                 "unknown flag --quite-unlike-anything; see eagleray start --help",
		"-x":                                      `unexpected argument "-x"`,
		"head":                                    `unexpected argument "head"`,
		"--num-cpus":                              "--num-cpus needs a value",
		"--num-cpus --head":                       "--num-cpus needs a value (N), and --head follows it",
		"--node-name --num-cpus=1":                "--node-name needs a value (NAME), and --num-cpus follows it",
		"--head=maybe":                            `--head takes no value, not "maybe"`,
		"--head=":                                 `--head takes no value, not ""`,
		"--state-dir=":                            `--state-dir: "" names no folder`,
		"--port=65536":                            `--port: "65536" is not a port, which is a whole number from 0 to 65535`,
		"--port=-1":                               `--port: "-1" is not a port`,
		"--port=":                                 `--port: "" is not a port`,
		"--dashboard-port=http":                   `--dashboard-port: "http" is not a port`,
		"--metrics-export-port=80.0":              `--metrics-export-port: "80.0" is not a port`,
		"--worker-port-list=1,x":                  `--worker-port-list: "x" is not a port`,
		"--include-dashboard=perhaps":             `--include-dashboard: "perhaps" is neither true nor false`,
		"--system-reserved-cpu=many":              `--system-reserved-cpu: "many" is not a number`,
		"--log-style=loud":                        `--log-style: "loud" is not possible, must be auto or record or pretty`,
		"--infeasible=hope":                       `--infeasible: "hope" is not possible, must be raise or wait`,
		"--node-name=a\x01b":                      "--node-name: the name of a node must have printable characters only",
		"--node-name=\xff":                        "--node-name: the name of a node must be UTF-8",
		"--node-ip-address=10.0.0.1:6379":         `--node-ip-address: "10.0.0.1:6379" has a port`,
		"--node-ip-address=":                      `--node-ip-address: "" is neither an IP address nor the name of a machine`,
		"--node-ip-address=10.0.0":                `"10.0.0" is neither an IP address nor the name of a machine`,
		"--node-ip-address=tcp://h":               `"tcp://h" is neither an IP address nor the name of a machine`,
		"--node-name=" + strings.Repeat("n", 257): "--node-name: the name of a node has at most 256 bytes, not 257",
	} {
		got, err := parseFlags("start", startOptions, strings.Fields(args))
		var wrong *usageError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, %v, want %q", args, got, err, words)
		}
	}
}

func TestParseFlags_Right_IsTaken(t *testing.T) {
	for args, want := range map[string]string{
		"--port=0":                                  "0",
		"--port 65535":                              "65535",
		"--port=1 --port=2":                         "2",
		"--worker-port-list 10002,10003":            "10002,10003",
		"--include-dashboard=TRUE":                  "TRUE",
		"--node-name=trunk":                         "trunk",
		"--node-name=":                              "",
		"--node-name=" + strings.Repeat("n", 256):   strings.Repeat("n", 256),
		"--node-ip-address=::1":                     "::1",
		"--node-ip-address=head-svc.ns.svc.cluster": "head-svc.ns.svc.cluster",
		"--resources={\"a\":-1}":                    `{"a":-1}`,
		"-v --node_name=x -vv":                      "x",
		"--head --head=false --node-name y":         "y",
	} {
		got, err := parseFlags("start", startOptions, strings.Fields(args))
		name := "--" + strings.FieldsFunc(args[strings.LastIndex(args, "--")+2:], func(r rune) bool { return r == '=' || r == ' ' })[0]
		name = strings.ReplaceAll(strings.Replace(name, "--head", "--node-name", 1), "_", "-")
		if err != nil || got[name] != want || got["--head"] != "" {
			t.Errorf("%s: %v, %v, want %q", args, got, err, want)
		}
	}
}

func TestDispatch_UnknownAndHelp(t *testing.T) {
	var out bytes.Buffer
	if err := dispatch([]string{"--help"}, "test", &out, &out); err != nil || !strings.Contains(out.String(), "status") || strings.Contains(out.String(), "daemon ") {
		t.Errorf("%v\n%s", err, out.String())
	}
	var wrong *usageError
	if err := dispatch([]string{"dance"}, "test", &out, &out); !errors.As(err, &wrong) {
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
