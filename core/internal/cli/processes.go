package cli

import (
	"flag"

	"github.com/eagleray/eagleray/core/internal/headprocess"
	"github.com/eagleray/eagleray/core/internal/nodeprocess"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
)

// runDaemon is the command line of a daemon, which init() and the warden start.
func runDaemon(args []string, release string) error {
	o := nodeprocess.Options{Release: release}
	f := flag.NewFlagSet("daemon", flag.ContinueOnError)
	f.BoolVar(&o.Embedded, "embedded", false, "end with the parent")
	f.IntVar(&o.ParentFD, "parent-fd", -1, "descriptor of the parent's socket")
	f.StringVar(&o.SessionDir, "session-dir", "", "the session's directory")
	f.BoolVar(&o.OwnLog, "own-log", false, "write to the session's "+sessiondir.LogName)
	f.StringVar(&o.Config, "config", "{}", "JSON; "+process.FromStdin+": it is read from the standard input")
	if err := f.Parse(args); err != nil {
		return usage("daemon: wrong flags")
	}
	return nodeprocess.Run(o)
}

// runHead is the command line of a head, which the warden starts.
func runHead(args []string, release string) error {
	f := flag.NewFlagSet("head", flag.ContinueOnError)
	readyFD := f.Int("ready-fd", -1, "descriptor of the pipe on which this process says that it is ready")
	dir := f.String("session-dir", "", "the session's directory")
	if err := f.Parse(args); err != nil {
		return usage("head: wrong flags")
	}
	return headprocess.Run(*readyFD, *dir, release)
}
