package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
)

// stopGrace is how long the daemon may take to end everything.
const stopGrace = 10 * time.Second

// runStop ends the cluster that start began. With none there is nothing to do,
// which is no error: as in Ray, scripts call it to be sure.
func runStop(args []string, out, _ io.Writer) error {
	if askedHelp("stop", stopOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("stop", stopOptions, args)
	if err != nil {
		return err
	}
	grace := stopGrace
	if v := flags["--grace-period"]; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return usage("stop: --grace-period: %q is not a number of seconds", v)
		}
		grace = time.Duration(n) * time.Second
	}
	base, err := ownBase(flags)
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	markKilled(base)
	nodes := startedBelow(base)
	if len(nodes) == 0 {
		dir, err := currentSession(base)
		switch {
		case errors.Is(err, errNoCluster):
			fmt.Fprintln(out, "No cluster is running on this machine.")
			return nil
		case err != nil:
			return err
		}
		clearCurrent(base, dir)
		fmt.Fprintf(out, "No cluster is running on this machine; the last one (session %s) had ended by itself.\n", dir)
		return nil
	}
	var problems []error
	stopping := make([]func() error, len(nodes))
	for i := range nodes { // all at once: together they need no longer than one
		stopping[i] = nodes[i].stop(grace, flags["--force"] != "", out)
	}
	for _, wait := range stopping {
		if err := wait(); err != nil {
			problems = append(problems, err)
		}
	}
	if dir, err := currentSession(base); err == nil && process.PidOf(dir, process.WardenPid) == 0 {
		clearCurrent(base, dir)
	}
	if _, _, err := prune(base, keptSessions, keptBytes); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// askLimit is how long a daemon may take to say what runs on it. It has to ask the head, which may be gone.
const askLimit = 500 * time.Millisecond

// stop asks a node to end. The function that it returns waits until the node has ended, and tells of it.
func (s *started) stop(grace time.Duration, force bool, out io.Writer) (wait func() error) {
	daemonPid, what := process.PidOf(s.dir, process.DaemonPid), ", which did not answer"
	if c, err := dialCluster(s.dir); err == nil {
		what = ""
		var info wire.ClusterInfo
		if c.askWithin(askLimit, wire.TClusterInfo, nil, &info) == nil {
			what = fmt.Sprintf(", %s, %s, %s", count(info.Jobs, "job"), count(info.Workers, "worker"), count(info.Actors, "actor"))
		}
		c.close()
	}
	if force {
		s.kill()
	} else {
		_ = unix.Kill(s.warden, unix.SIGTERM)
	}
	return func() error {
		if !waitEnd(s.warden, grace) {
			fmt.Fprintf(out, "The daemon (pid %d) did not end within %v; it is killed. Its workers end with it.\n", daemonPid, grace)
			s.kill()
			if !waitEnd(s.warden, stopGrace) {
				return fmt.Errorf("the warden (pid %d) of the daemon (pid %d) does not end", s.warden, daemonPid)
			}
		}
		if daemonPid != 0 && !waitEnd(daemonPid, stopGrace) {
			return fmt.Errorf("the daemon (pid %d) does not end", daemonPid)
		}
		workers.EndSession(filepath.Base(s.dir))
		if err := markEnded(filepath.Dir(s.dir), s.dir); err != nil {
			return err
		}
		stopped := fmt.Sprintf("Stopped the cluster (daemon pid %d%s).", daemonPid, what)
		if daemonPid == 0 {
			stopped = "No cluster is running on this machine any more; its daemon had ended by itself."
		}
		fmt.Fprintf(out, "%s Its logs are in %s, which `eagleray clean` removes\n", stopped, filepath.Join(s.dir, "logs"))
		return nil
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
