// Package cli is the command line of the program eagleray, and its long-running processes, which are
// commands, too: the daemon (package nodeprocess), the head (package headprocess) and the warden, which is here. The Python package
// has commands of its own (`eagleray list`, `eagleray memory`, ...), which ask the command census.
//
// # Processes
//
// A program's own session is one process, an embedded daemon with a head in it. A node that `start` leaves running has
// a warden (warden.go), which keeps a head, if the cluster began here, and a daemon that is a member of the cluster.
// nodeConfig has what they are told, and sessions.go finds them again.
//
// There are no locks here. The goroutines of a command end with it.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/eagleray/eagleray/core/internal/process"
)

// command is one subcommand. It writes its answer to out, and remarks beside the answer to errs.
type command struct {
	name  string
	about string
	run   func(args []string, out, errs io.Writer) error
}

func commands(version string) []command {
	return []command{
		{"start", "start a cluster on this machine, or join one, until `eagleray stop`", runStart},
		{"stop", "end what `eagleray start` has begun on this machine", runStop},
		{symmetricName, "start a cluster on all machines on which this command runs, run a program on it, and end it", runSymmetric},
		{"heads", "show the heads of the cluster, and change who they are", func(args []string, out, _ io.Writer) error { return runHeads(args, version, out) }},
		{"status", "show nodes, resources and what waits", runStatus},
		{"drain-node", "have a node get no new work and leave the cluster", runDrain},
		{"clean", "remove the folders, with the logs, of sessions that have ended", runClean},
		{"health-check", "end with status 0 when a head answers, and with 1 when none does", runHealthCheck},
		{"token", "replace the cluster's token while it runs, and show which machines have it", func(args []string, out, _ io.Writer) error { return runToken(args, version, out) }},
		{"authority", "replace the authority that signs the cluster's certificates", func(args []string, out, _ io.Writer) error { return runAuthority(args, version, out) }},
		{"revoke", "take a node's certificate from it: nobody connects with it any more", func(args []string, out, _ io.Writer) error { return runRevoke(args, version, out) }},
		{"version", "print the version", func(_ []string, out, _ io.Writer) error {
			_, err := fmt.Fprintln(out, version)
			return err
		}},
		{"daemon", "", func(args []string, _, _ io.Writer) error { return runDaemon(args, version) }}, // started by init() and by the warden
		{"warden", "", func(args []string, _, _ io.Writer) error { return runWarden(args, version) }}, // started by start
		{"head", "", func(args []string, _, _ io.Writer) error { return runHead(args, version) }},     // started by the warden
		{"census", "", runCensus},          // for the commands that the Python package has
		{"job-guard", "", runJobGuard},     // started by the supervisor of a submitted job
		{"pack-folder", "", runPackFolder}, // for the client of submitted jobs
		{"yaml-json", "", runYAMLJSON},     // for the Python commands
	}
}

// Main runs the command that args name, writes what it prints to out and a failure to errs, and returns the program's
// exit status: 2 when the command line asks for what cannot be, as a taken port, 1 when the command fails otherwise. symmetric-run ends with the status of its program.
func Main(args []string, version string, out, errs io.Writer) int {
	err := dispatch(args, version, out, errs)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(errs, "eagleray: %v\n", err)
	var wrong *usageError
	var dead *process.DeclaredDeadError
	switch {
	case errors.As(err, &wrong):
		return 2
	case errors.As(err, &dead):
		return process.RejoinStatus
	case errors.Is(err, process.ErrRemoved):
		return process.RemovedStatus
	}
	var ended *entrypointError
	if errors.As(err, &ended) {
		return ended.status
	}
	return 1
}

func dispatch(args []string, version string, out, errs io.Writer) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" || args[0] == "help" {
		fmt.Fprintln(out, "usage: eagleray COMMAND [flags]")
		fmt.Fprintln(out)
		for _, c := range commands(version) {
			if c.about != "" {
				name := fmt.Sprintf("%-8s", c.name)
				if len(name) > 8 { // the text stands below a long name
					name += "\n" + strings.Repeat(" ", 10)
				}
				fmt.Fprintf(out, "  %s %s\n", name, c.about)
			}
		}
		return nil
	}
	if args[0] == "--version" {
		args[0] = "version"
	}
	for _, c := range commands(version) {
		if c.name == args[0] {
			return c.run(args[1:], out, errs)
		}
	}
	var names []string
	for _, c := range commands(version) {
		if c.about != "" {
			names = append(names, c.name)
		}
	}
	names = append(names, "completion", "get", "get-auth-token", "job", "kill-actor", "list", "logs", "memory", "stack", "summary", "microbenchmark", "run", "timeline", "trace-report") // the Python package's
	return usage("unknown command %q%s; see eagleray --help", args[0], meant(args[0], names))
}
