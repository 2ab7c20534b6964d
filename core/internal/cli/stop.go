package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/wire"
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
	base := baseOf(flags)
	dir, err := currentSession(base)
	if errors.Is(err, errNoCluster) {
		fmt.Fprintln(out, "No cluster is running on this machine.")
		return nil
	}
	if err != nil {
		return err
	}
	pid, what := askToEnd(dir, flags["--force"] != "")
	if pid == 0 {
		clearCurrent(base, dir)
		fmt.Fprintf(out, "No cluster is running on this machine; the last one (session %s) had ended by itself.\n", dir)
		return nil
	}
	if !waitEnd(pid, grace) {
		fmt.Fprintf(out, "The daemon (pid %d) did not end within %v; it is killed. Its workers end with it.\n", pid, grace)
		_ = unix.Kill(pid, unix.SIGKILL)
		if !waitEnd(pid, stopGrace) {
			return fmt.Errorf("the daemon (pid %d) does not end", pid)
		}
	}
	clearCurrent(base, dir)
	for _, name := range []string{"lock", "pid", "d.sock"} {
		os.Remove(filepath.Join(dir, name))
	}
	os.RemoveAll(filepath.Join(dir, "p"))
	if err := os.WriteFile(filepath.Join(dir, endedName), nil, 0o600); err != nil {
		return fmt.Errorf("mark session %s as ended: %w", dir, err)
	}
	if _, _, err := prune(base, keptSessions, keptBytes); err != nil {
		return err
	}
	fmt.Fprintf(out, "Stopped the cluster (daemon pid %d%s). Its logs are in %s, which `eagleray clean` removes\n", pid, what, filepath.Join(dir, "logs"))
	return nil
}

// askToEnd tells a session's daemon to end: over its socket, else by signal to
// the verified process. It returns the daemon's pid, 0 when there is none.
func askToEnd(dir string, force bool) (pid int, what string) {
	c, err := dialCluster(dir)
	if err != nil {
		if pid = daemonPid(dir); pid == 0 {
			return 0, ""
		}
		sig := unix.SIGTERM
		if force {
			sig = unix.SIGKILL
		}
		_ = unix.Kill(pid, sig)
		return pid, ", which did not answer"
	}
	defer c.close()
	var info wire.ClusterInfo
	if c.call(wire.TClusterInfo, &info) == nil {
		what = fmt.Sprintf(", %s, %s, %s", count(info.Jobs, "job"), count(info.Workers, "worker"), count(info.Actors, "actor"))
	}
	if force {
		_ = unix.Kill(c.pid, unix.SIGKILL)
	} else if c.call(wire.TShutdown, nil) != nil {
		_ = unix.Kill(c.pid, unix.SIGTERM)
	}
	return c.pid, what
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
