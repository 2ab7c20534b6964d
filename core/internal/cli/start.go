package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// startLimit bounds the wait for the daemon.
const startLimit = 30 * time.Second

// runStart begins a cluster on this machine and leaves it running. A failed start leaves no process and no session
// behind. A wrong value is a usageError, also when only the daemon notices it.
func runStart(args []string, out, errs io.Writer) error {
	if askedHelp("start", startOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("start", startOptions, args)
	if err != nil {
		return err
	}
	if flags["--head"] == "" {
		return usage("start: --head is missing: eagleray start --head begins a cluster on this machine; %s", later)
	}
	conf, err := startConfig(flags)
	if err != nil {
		return usage("start: %v", err)
	}
	base := baseOf(flags)
	dir, err := daemon.NewSessionDir(base)
	if err != nil {
		return err
	}
	one, err := os.OpenFile(filepath.Join(base, "start.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer one.Close()
	if err := unix.Flock(int(one.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("start.lock: %w", err)
	}
	if old, err := currentSession(base); err == nil {
		if c, err := dialCluster(old); err == nil {
			c.close()
			return fmt.Errorf("a cluster is running on this machine already (session %s, daemon pid %d); end it first with: eagleray stop", old, c.pid)
		}
		if pid := daemonPid(old); pid != 0 {
			return fmt.Errorf("a cluster is there already but does not answer (session %s, daemon pid %d); end it first with: eagleray stop", old, pid)
		}
	} else if !errors.Is(err, errNoCluster) {
		return err
	}
	if _, _, err := prune(base, keptSessions, keptBytes); err != nil {
		fmt.Fprintf(errs, "eagleray: start: %v\n", err) // what was left behind is no reason not to start
	}
	signals := make(chan os.Signal, 1)
	if flags["--block"] != "" {
		// From here on: a signal that comes early must not leave the daemon behind.
		signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	}
	cmd, err := launch(dir, conf)
	if err != nil {
		return err
	}
	tellUnused("start", append(unusedGiven(startOptions, flags), unusedSettings(&conf)...), errs)
	err = setCurrent(base, dir)
	if err == nil {
		err = announce(out, dir, flags)
	}
	if err != nil {
		endDaemon(cmd, whenEnded(cmd))
		clearCurrent(base, dir)
		os.RemoveAll(dir)
		return fmt.Errorf("start: %w", err)
	}
	one.Close()
	if flags["--block"] == "" {
		return cmd.Process.Release()
	}
	return block(out, cmd, signals)
}

// launch starts the daemon in the background and waits until it is ready.
func launch(dir string, conf config) (*exec.Cmd, error) {
	text, err := json.Marshal(conf)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("eagleray-daemon-says", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memory for what the daemon says: %w", err)
	}
	early := os.NewFile(uintptr(fd), "what the daemon says before it has its log")
	defer early.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argument := string(text)
	if len(text) > longConfig {
		argument = fromStdin
	}
	cmd := exec.Command(self, "daemon", "--parent-fd", "3", "--own-log", "--session-dir", dir, "--config", argument)
	if argument == fromStdin {
		cmd.Stdin = bytes.NewReader(text)
	}
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stdout, cmd.Stderr = early, early
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	w.Close()
	_ = r.SetReadDeadline(time.Now().Add(startLimit))
	line, err := bufio.NewReader(r).ReadString('\n')
	if line == "ready\n" {
		return cmd, nil
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	said, _ := io.ReadAll(io.NewSectionReader(early, 0, 1<<20))
	logged, _ := os.ReadFile(filepath.Join(dir, daemon.LogName))
	os.RemoveAll(dir)
	if text, ok := strings.CutPrefix(line, "invalid: "); ok {
		return nil, usage("start: %s", strings.TrimSpace(text))
	}
	if text, ok := strings.CutPrefix(line, "error: "); ok {
		return nil, fmt.Errorf("start: %s", strings.TrimSpace(text))
	}
	return nil, fmt.Errorf("the daemon did not become ready (%v); it wrote:\n%s%s", err, said, logged)
}

// announce prints how to use and end the cluster.
func announce(out io.Writer, dir string, flags map[string]string) error {
	c, err := dialCluster(dir)
	if err != nil {
		return err
	}
	defer c.close()
	var info wire.ClusterInfo
	if err := c.call(wire.TClusterInfo, &info); err != nil {
		return err
	}
	res := info.Totals.Resources
	tmp := ""
	if flags["--temp-dir"] != "" {
		tmp = "EAGLERAY_TMPDIR=" + filepath.Dir(baseOf(flags)) + " "
	}
	fmt.Fprintf(out, `Eagle Ray runs on this machine: %s.

  use it     import eagleray as ray; ray.init()
  look       %seagleray status
  end it     %seagleray stop
  session    %s (daemon pid %d)
`, offered(res), tmp, tmp, dir, c.pid)
	if tmp != "" {
		fmt.Fprintf(out, "  programs find it with %sin their environment\n", tmp)
	}
	return nil
}

// offered lists what a newcomer asks for first.
func offered(res map[string]int64) string {
	s := fmt.Sprintf("%s CPUs", amount("CPU", res["CPU"]))
	for _, name := range sortedKeys(res) {
		switch {
		case name == "CPU" || strings.HasPrefix(name, "node:") || strings.HasPrefix(name, "accelerator_type:"):
		case name == "memory":
			s += ", " + amount(name, res[name]) + " memory"
		case name == resource.GPUMemory:
			s += ", " + amount(name, res[name]) + " GPU memory"
		case name == "object_store_memory":
			s += ", " + amount(name, res[name]) + " object store"
		default:
			s += ", " + amount(name, res[name]) + " " + name
		}
	}
	return s
}

// block waits with the cluster in the foreground.
func block(out io.Writer, cmd *exec.Cmd, signals <-chan os.Signal) error {
	ended := whenEnded(cmd)
	fmt.Fprintln(out, "\n--block: this command stays until the cluster ends; Ctrl-C ends it.")
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the daemon ended: %w", err)
		}
		return errors.New("the cluster was stopped")
	case <-signals:
		endDaemon(cmd, ended)
		return nil
	}
}

// whenEnded reaps the daemon when it ends.
func whenEnded(cmd *exec.Cmd) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended
}

// endDaemon returns when the daemon has ended.
func endDaemon(cmd *exec.Cmd, ended <-chan error) {
	_ = cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-ended:
	case <-time.After(startLimit):
		_ = cmd.Process.Kill()
		<-ended
	}
}
