package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/headprocess"
	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// startLimit bounds the wait for the node: its processes have limits of their own.
const startLimit = 60 * time.Second

// runStart begins a cluster on this machine, or adds this machine to one, and leaves the node running. A failed start leaves no
// process and no session behind. A wrong value is a usageError, also when only a process of the node notices it.
func runStart(args []string, out, errs io.Writer) error {
	if askedHelp("start", startOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("start", startOptions, args)
	if err == nil {
		err = needHead(flags)
	}
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	if flags["--block"] != "" {
		// From here on: a signal that comes early must not leave the node behind.
		signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	}
	cmd, _, err := begin(flags, out, errs)
	if err != nil {
		return err
	}
	if flags["--block"] == "" {
		return cmd.Process.Release()
	}
	return block(out, cmd, signals)
}

// begin starts the node that the flags describe, and returns its warden and its session when it is ready. A failed one leaves
// nothing behind.
func begin(flags map[string]string, out, errs io.Writer) (*exec.Cmd, string, error) {
	conf, err := startConfig(flags)
	if err != nil {
		return nil, "", usage("start: %v", err)
	}
	if err := leadsSomewhere(conf.NodeIP, net.DefaultResolver.LookupHost); err != nil {
		return nil, "", usage("start: --node-ip-address: %v", err)
	}
	base := baseOf(flags)
	dir, err := sessiondir.New(base)
	if err != nil {
		return nil, "", err
	}
	node, err := clusterConfig(flags, base, conf)
	if err != nil {
		return nil, "", usage("start: %v", err)
	}
	one, err := os.OpenFile(filepath.Join(base, "start.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, "", err
	}
	defer one.Close()
	if err := unix.Flock(int(one.Fd()), unix.LOCK_EX); err != nil {
		return nil, "", fmt.Errorf("start.lock: %w", err)
	}
	markKilled(base)
	here := startedBelow(base)
	if len(here) > 0 && here[0].head && node.Head != nil {
		return nil, "", alreadyRuns(here[0].dir, elsewhere(flags))
	}
	if _, _, err := prune(base, keptSessions, keptBytes); err != nil {
		fmt.Fprintf(errs, "eagleray: start: %v\n", err) // what was left behind is no reason not to start
	}
	cmd, said, err := launch(dir, node)
	if err != nil {
		return nil, "", err
	}
	tellUnused("start", append(unusedGiven(startOptions, flags), unusedSettings(&conf)...), errs)
	if len(here) == 0 {
		err = setCurrent(base, dir)
	}
	if err == nil {
		warn(errs, &node, &said)
		err = announce(out, dir, &node, &said, flags)
	}
	if err != nil {
		endNode(cmd, whenEnded(cmd))
		os.RemoveAll(dir)
		return nil, "", fmt.Errorf("start: %w", err)
	}
	return cmd, dir, nil
}

// alreadyRuns says that a cluster that began on this machine has not ended. The text tmp stands before commands that are about it.
func alreadyRuns(dir, tmp string) error {
	do := fmt.Sprintf("end it first with: %seagleray stop, or begin another one beside it with another --temp-dir", tmp)
	c, err := dialCluster(dir)
	switch {
	case err == nil:
		c.close()
		return fmt.Errorf("a cluster is running on this machine already (session %s, daemon pid %d); %s", dir, c.pid, do)
	case fault.CodeOf(err) == fault.VersionMismatch:
		return fmt.Errorf("a cluster of another release of Eagle Ray is running on this machine already (session %s, daemon pid %d); %s", dir, process.PidOf(dir, process.DaemonPid), do)
	}
	return fmt.Errorf("a cluster is there already but does not answer (session %s, daemon pid %d); %s", dir, process.PidOf(dir, process.DaemonPid), do)
}

// elsewhere is what stands before commands about sessions below --temp-dir; empty without that flag.
func elsewhere(flags map[string]string) string {
	if flags["--temp-dir"] == "" {
		return ""
	}
	return "EAGLERAY_TMPDIR=" + filepath.Dir(baseOf(flags)) + " "
}

// launch starts the warden of a node in the background and waits until the node is ready. When it fails, it leaves nothing.
func launch(dir string, conf nodeConfig) (_ *exec.Cmd, said nodeSaid, err error) {
	text, err := json.Marshal(conf)
	if err != nil {
		return nil, said, err
	}
	fd, err := unix.MemfdCreate("eagleray-warden-says", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, said, fmt.Errorf("memory for what the warden says: %w", err)
	}
	early := os.NewFile(uintptr(fd), "what the warden says before it has its log")
	defer early.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, said, err
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		w.Close()
		return nil, said, err
	}
	cmd := exec.Command(self, "warden", "--ready-fd", "3", "--session-dir", dir)
	cmd.Stdin = bytes.NewReader(text)
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stdout, cmd.Stderr = early, early
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, said, fmt.Errorf("start the warden: %w", err)
	}
	_ = r.SetReadDeadline(time.Now().Add(startLimit))
	line, err := bufio.NewReader(r).ReadString('\n')
	if text, ok := strings.CutPrefix(line, "ready "); ok {
		if err = readySaid(text, &said); err == nil {
			return cmd, said, nil
		}
	}
	endNode(cmd, whenEnded(cmd))
	wrote, _ := io.ReadAll(io.NewSectionReader(early, 0, 1<<20))
	for _, name := range []string{wardenLogName, headprocess.LogName, sessiondir.LogName} {
		logged, _ := os.ReadFile(filepath.Join(dir, name))
		wrote = append(wrote, logged...)
	}
	os.RemoveAll(dir)
	if text, ok := strings.CutPrefix(line, "invalid: "); ok {
		return nil, said, usage("start: %s", strings.TrimSpace(text))
	}
	if text, ok := strings.CutPrefix(line, "error: "); ok {
		return nil, said, fmt.Errorf("start: %s", strings.TrimSpace(text))
	}
	return nil, said, fmt.Errorf("the node did not become ready (%v); its processes wrote:\n%s", err, wrote)
}

// warn says what of a node that was just started may surprise.
func warn(errs io.Writer, n *nodeConfig, said *nodeSaid) {
	for _, text := range said.Warnings {
		fmt.Fprintln(errs, "eagleray: start: "+text)
	}
	if n.Node.Member.Insecure {
		fmt.Fprintln(errs, "eagleray: start: "+process.InsecureText)
	}
}

// announce prints how to use and end the node.
func announce(out io.Writer, dir string, n *nodeConfig, said *nodeSaid, flags map[string]string) error {
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
	tmp := elsewhere(flags)
	m := n.Node.Member
	head := strings.Join(m.Heads, ",")
	if n.Head != nil {
		head = net.JoinHostPort(n.Node.NodeIP, strconv.Itoa(said.HeadPort))
	}
	address, flag := "", ""
	if anotherIsCurrent(baseOf(flags), dir) {
		address, flag = fmt.Sprintf("address=%q", head), " --address="+head
	}
	fmt.Fprintf(out, `Eagle Ray runs on this machine: %s.

  use it     import eagleray as ray; ray.init(%s)
  look       %seagleray status%s
  end it     %seagleray stop
  session    %s (daemon pid %d)
  node       %s
`, offered(res), address, tmp, flag, tmp, dir, c.pid, said.Node)
	if address != "" {
		fmt.Fprintln(out, "  A node of another cluster runs in the same folder, and is what ray.init() and `eagleray status` mean without an address. `eagleray stop` ends both.")
	}
	if n.Head == nil {
		fmt.Fprintf(out, "  cluster    node %d of the cluster of %s\n", said.Number, strings.Join(m.Heads, ", "))
	} else {
		if n.Head.State.Path != "" {
			fmt.Fprintf(out, "  state      %s%s\n", n.Head.State.Path, formerText(said.Former))
		}
		fmt.Fprintf(out, `
  add a machine
    eagleray start --address='%s'%s%s
  The token is secret: whoever has it can run programs on all machines of the cluster. Copy it with mode 0600.
`, head, tokenFlag(m.Token), insecureFlag(m.Insecure))
		if n.Head.AnyPort && said.HeadPort != defaultPort {
			fmt.Fprintf(out, "  Port %d is taken, so the head listens at another one; --port chooses one.\n", defaultPort)
		}
	}
	if tmp != "" {
		fmt.Fprintf(out, "  programs find it with %sin their environment\n", tmp)
	}
	return nil
}

// anotherIsCurrent reports whether programs and commands without an address work on a node of another cluster than that of the session.
func anotherIsCurrent(base, dir string) bool {
	now, err := currentSession(base)
	return err == nil && now != dir && heads.Among(context.Background(), heads.Of(dir), []string{now}) == ""
}

func formerText(former bool) string {
	if former {
		return " (goes on with the cluster that was kept there)"
	}
	return ""
}

// tokenFlag is how the command for other machines names the token.
func tokenFlag(s process.TokenSource) string {
	if s.File == "" {
		return "   (with " + s.Variable + " as here)"
	}
	return " --token-file=" + s.File
}

func insecureFlag(insecure bool) string {
	if insecure {
		return " --insecure"
	}
	return ""
}

// offered lists what a newcomer asks for first.
func offered(res map[string]int64) string {
	s := amount("CPU", res["CPU"]) + " CPUs"
	if s == "1 CPUs" {
		s = "1 CPU"
	}
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

// block waits with the node in the foreground.
func block(out io.Writer, cmd *exec.Cmd, signals <-chan os.Signal) error {
	ended := whenEnded(cmd)
	fmt.Fprintln(out, "\n--block: this command stays until the node ends; Ctrl-C ends it.")
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the node has ended by itself: its logs are in its session (%w)", err)
		}
		return errors.New("the node was stopped")
	case <-signals:
		endNode(cmd, ended)
		return nil
	}
}

// whenEnded reaps the warden when it ends.
func whenEnded(cmd *exec.Cmd) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended
}

// endNode returns when the warden has ended, and with it all processes of the node.
func endNode(cmd *exec.Cmd, ended <-chan error) {
	_ = cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-ended:
	case <-time.After(startLimit):
		_ = cmd.Process.Kill()
		<-ended
	}
}
