package cli

import (
	"fmt"
	"io"
	"strings"
)

// option is one flag of a subcommand. A flag with neither about nor unused is accepted, and nothing is said of it.
type option struct {
	name   string             // with dashes
	value  string             // what its value is, "" for a switch
	about  string             // what it does
	check  func(string) error // says what is wrong with a value; nil: whoever uses the value checks it
	unused string             // why it has no effect here although it is accepted
}

// logOptions are on all of Ray's commands.
var logOptions = []option{
	{name: "--log-style", value: "STYLE", check: oneOf("auto", "record", "pretty")},
	{name: "--log-color", value: "WHEN", check: oneOf("auto", "false", "true")},
	{name: "--verbose"},
}

var stopOptions = append([]option{
	{name: "--force", about: "kill at once"},
	{name: "--grace-period", value: "SECONDS", about: "how long processes may take to end (default: 10)"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
}, logOptions...)

var statusOptions = append([]option{
	{name: "--json", about: "print all of it as JSON, for programs"},
	{name: "--temp-dir", value: "DIR", about: "where sessions live"},
	{name: "--address", value: "HOST:PORT", about: "the head of the cluster to show (default: $EAGLERAY_ADDRESS, $RAY_ADDRESS, else the one that runs here)"},
	{name: "--redis-password", value: "TEXT", unused: noRedis},
	{name: "--verbose", about: "print what each node has and does (-v)"},
}, logOptions[:2]...)

// short are the one-letter forms.
var short = map[string]string{"-f": "--force", "-g": "--grace-period", "-v": "--verbose", "-vv": "--verbose", "-vvv": "--verbose"}

// parseFlags reads args against the table: --name=value, --name value, and
// switches, which also take =true and =false. Underscores count as dashes. The
// last of several values counts.
func parseFlags(command string, table []option, args []string) (map[string]string, error) {
	got := make(map[string]string)
	for i := 0; i < len(args); i++ {
		given, value, hasValue := strings.Cut(args[i], "=")
		o, err := find(table, given)
		if err != nil {
			return nil, usage("%s: %v; see eagleray %s --help", command, err, command)
		}
		switch {
		case o.value == "":
			on, err := truth(value)
			if err != nil && hasValue {
				return nil, usage("%s: %s takes no value, not %q", command, o.name, value)
			}
			if hasValue && !on {
				delete(got, o.name)
				continue
			}
			value = "true"
		case !hasValue:
			if i++; i >= len(args) {
				return nil, usage("%s: %s needs a value (%s)", command, o.name, o.value)
			}
			value = args[i]
			if next, _, _ := strings.Cut(value, "="); strings.HasPrefix(next, "--") {
				if _, err := find(table, next); err == nil {
					return nil, usage("%s: %s needs a value (%s), and %s follows it", command, o.name, o.value, next)
				}
			}
		}
		if o.check != nil {
			if err := o.check(value); err != nil {
				return nil, usage("%s: %s: %v", command, o.name, err)
			}
		}
		got[o.name] = value
	}
	return got, nil
}

// find returns the flag of this name.
func find(table []option, given string) (*option, error) {
	name := given
	if long, ok := short[given]; ok {
		name = long
	}
	if !strings.HasPrefix(name, "--") {
		return nil, fmt.Errorf("unexpected argument %q", given)
	}
	name = strings.ReplaceAll(name, "_", "-")
	var names []string
	for i := range table {
		if table[i].name == name {
			return &table[i], nil
		}
		names = append(names, table[i].name)
	}
	return nil, fmt.Errorf("unknown flag %s%s", name, meant(name, names))
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
	for _, o := range table {
		if o.about != "" {
			fmt.Fprintf(out, "  %-30s %s\n", strings.TrimSpace(o.name+" "+o.value), o.about)
		}
	}
	unused := byReason(table, func(o *option) bool { return o.unused != "" })
	if len(unused) > 0 {
		fmt.Fprintf(out, "\nFlags that Ray has too, and that are accepted without an effect:\n")
	}
	for _, r := range unused {
		fmt.Fprintf(out, "\n  %s\n", r.why)
		for _, name := range r.names {
			fmt.Fprintf(out, "    %s\n", name)
		}
	}
	return true
}

// usageError ends the command with status 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }
