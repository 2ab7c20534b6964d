// Command eagleray is the daemon and the command line.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

var version = "dev"

// command is one subcommand.
type command struct {
	name  string
	about string
	run   func(args []string, out io.Writer) error
}

func commands() []command {
	return []command{
		{"start", "start a cluster on this machine that stays until `eagleray stop`", runStart},
		{"stop", "end the cluster that `eagleray start` began", runStop},
		{"status", "show nodes, resources and what waits", runStatus},
		{"clean", "remove the folders, with the logs, of sessions that have ended", runClean},
		{"version", "print the version", func(_ []string, out io.Writer) error {
			_, err := fmt.Fprintln(out, version)
			return err
		}},
		{"daemon", "", runDaemon}, // started by init() and by start
		{"census", "", runCensus}, // for the commands that the Python package has
	}
}

// usageError ends the command with status 2.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }

func main() {
	err := dispatch(os.Args[1:], os.Stdout)
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "eagleray: %v\n", err)
	var wrong *usageError
	if errors.As(err, &wrong) {
		os.Exit(2)
	}
	os.Exit(1)
}

func dispatch(args []string, out io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		fmt.Fprintln(out, "usage: eagleray COMMAND [flags]")
		fmt.Fprintln(out)
		for _, c := range commands() {
			if c.about != "" {
				fmt.Fprintf(out, "  %-8s %s\n", c.name, c.about)
			}
		}
		return nil
	}
	if args[0] == "--version" {
		args[0] = "version"
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(args[1:], out)
		}
	}
	var names []string
	for _, c := range commands() {
		if c.about != "" {
			names = append(names, c.name)
		}
	}
	names = append(names, "get", "list", "memory", "summary", "microbenchmark", "trace-report") // the Python package's
	return usage("unknown command %q%s; see eagleray --help", args[0], meant(args[0], names))
}
