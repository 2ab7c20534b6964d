package cli

import (
	"fmt"
	"io"
	"strings"
)

// option is one flag of a subcommand.
type option struct {
	name  string // with dashes
	value string // what its value is, "" for a switch
	about string // "" when it is accepted and means nothing here
	deny  string // why it is refused
}

// logOptions are on all of Ray's commands.
var logOptions = []option{
	{name: "--log-style", value: "STYLE"},
	{name: "--log-color", value: "WHEN"},
	{name: "--verbose"},
}

// later is said of what needs several machines.
const later = "joining other machines comes with a later version; on one machine drivers find the cluster by themselves"

// startOptions are the flags of start. Those without a text are Ray's: scripts
// and operators pass them, and they have no meaning here.
var startOptions = append([]option{
	{name: "--head", about: "begin a new cluster on this machine"},
	{name: "--num-cpus", value: "N", about: "CPUs to offer (default: those this process may use)"},
	{name: "--num-gpus", value: "N", about: "GPUs to offer (default: detected)"},
	{name: "--gpu-memory", value: "SIZE,…", about: "memory of every GPU, or of each, as 16GiB (default: detected)"},
	{name: "--resources", value: "JSON", about: `custom resources, as '{"name": 4}'`},
	{name: "--memory", value: "BYTES", about: "memory to offer (default: what is available)"},
	{name: "--object-store-memory", value: "BYTES", about: "size of the object store (default: 30% of the memory)"},
	{name: "--object-spilling-directory", value: "DIR", about: "where objects go that the store has no room for (default: the session)"},
	{name: "--labels", value: "K=V,…", about: "labels of this node"},
	{name: "--node-ip-address", value: "IP", about: "the address under which this node is shown"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live (default: $EAGLERAY_TMPDIR, $RAY_TMPDIR, /tmp)"},
	{name: "--block", about: "stay in the foreground; Ctrl-C ends the cluster"},
	{name: "--address", value: "HOST:PORT", deny: later},

	{name: "--port", value: "PORT"}, {name: "--object-manager-port", value: "PORT"}, {name: "--node-manager-port", value: "PORT"},
	{name: "--gcs-server-port", value: "PORT"}, {name: "--min-worker-port", value: "PORT"}, {name: "--max-worker-port", value: "PORT"},
	{name: "--worker-port-list", value: "PORTS"}, {name: "--ray-client-server-port", value: "PORT"},
	{name: "--include-dashboard", value: "BOOL"}, {name: "--dashboard-host", value: "HOST"}, {name: "--dashboard-port", value: "PORT"},
	{name: "--dashboard-grpc-port", value: "PORT"}, {name: "--dashboard-agent-listen-port", value: "PORT"}, {name: "--dashboard-agent-grpc-port", value: "PORT"},
	{name: "--runtime-env-agent-port", value: "PORT"}, {name: "--metrics-export-port", value: "PORT"},
	{name: "--plasma-directory", value: "DIR"}, {name: "--autoscaling-config", value: "FILE"},
	{name: "--plasma-store-socket-name", value: "PATH"}, {name: "--raylet-socket-name", value: "PATH"}, {name: "--storage", value: "URI"},
	{name: "--node-name", value: "NAME"}, {name: "--redis-password", value: "TEXT"}, {name: "--redis-username", value: "TEXT"},
	{name: "--system-config", value: "JSON"}, {name: "--tracing-startup-hook", value: "HOOK"}, {name: "--proxy-server-url", value: "URL"},
	{name: "--cgroup-path", value: "PATH"}, {name: "--system-reserved-cpu", value: "N"}, {name: "--system-reserved-memory", value: "BYTES"},
	{name: "--include-log-monitor", value: "BOOL"}, {name: "--labels-file", value: "FILE", deny: "labels from a file are not supported; use --labels=key=value,…"},
	{name: "--enable-object-reconstruction"}, {name: "--enable-resource-isolation"}, {name: "--no-redirect-output"}, {name: "--no-monitor"},
	{name: "--ray-debugger-external"}, {name: "--disable-usage-stats"},
}, logOptions...)

var stopOptions = append([]option{
	{name: "--force", about: "kill at once"},
	{name: "--grace-period", value: "SECONDS", about: "how long processes may take to end (default: 10)"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
}, logOptions...)

var statusOptions = append([]option{
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
	{name: "--address", value: "HOST:PORT", deny: later},
	{name: "--redis-password", value: "TEXT"},
}, logOptions...)

// short are the one-letter forms.
var short = map[string]string{"-f": "--force", "-g": "--grace-period", "-v": "--verbose"}

// parseFlags reads args against the table: --name=value, --name value, and
// switches, which also take =true and =false. Underscores count as dashes.
func parseFlags(command string, table []option, args []string) (map[string]string, error) {
	got := make(map[string]string)
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		if long, ok := short[name]; ok {
			name = long
		}
		if !strings.HasPrefix(name, "--") {
			return nil, usage("%s: unexpected argument %q", command, args[i])
		}
		name = strings.ReplaceAll(name, "_", "-")
		var o *option
		for j := range table {
			if table[j].name == name {
				o = &table[j]
			}
		}
		if o == nil {
			names := make([]string, len(table))
			for j := range table {
				names[j] = table[j].name
			}
			return nil, usage("%s: unknown flag %s%s; see eagleray %s --help", command, name, meant(name, names), command)
		}
		if o.deny != "" {
			return nil, fmt.Errorf("%s: %s: %s", command, name, o.deny)
		}
		switch {
		case o.value == "":
			switch strings.ToLower(value) {
			case "false", "0", "no":
				continue
			case "", "true", "1", "yes":
			default:
				return nil, usage("%s: %s takes no value, not %q", command, name, value)
			}
			value = "true"
		case !given:
			if i++; i >= len(args) {
				return nil, usage("%s: %s needs a value (%s)", command, name, o.value)
			}
			value = args[i]
		}
		got[name] = value
	}
	return got, nil
}

// askedHelp prints a subcommand's flags when they were asked for.
func askedHelp(command string, table []option, args []string, out io.Writer) bool {
	asked := false
	for _, a := range args {
		asked = asked || a == "--help" || a == "-h"
	}
	if !asked {
		return false
	}
	fmt.Fprintf(out, "usage: eagleray %s [flags]\n\n", command)
	ignored := 0
	for _, o := range table {
		if o.about == "" {
			if o.deny == "" {
				ignored++
			}
			continue
		}
		fmt.Fprintf(out, "  %-30s %s\n", strings.TrimSpace(o.name+" "+o.value), o.about)
	}
	fmt.Fprintf(out, "\n%d more of Ray's flags are accepted and have no meaning here.\n", ignored)
	return true
}

// usageError ends the command with status 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }
