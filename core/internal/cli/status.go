package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/sessiondir"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// runStatus prints what the cluster is and does.
func runStatus(args []string, out, errs io.Writer) error {
	if askedHelp("status", statusOptions, args, out) {
		return nil
	}
	flags, err := parseFlags("status", statusOptions, args)
	if err != nil {
		return err
	}
	dir, err := sessionShown("status", flags)
	if err != nil {
		return err
	}
	c, err := dialCluster(dir)
	if fault.CodeOf(err) == fault.VersionMismatch {
		return fmt.Errorf("another release of Eagle Ray runs here; use its own commands: %w", err)
	}
	if err != nil {
		return fmt.Errorf("%w (%w)", errNoCluster, err)
	}
	defer c.close()
	var head wire.HeadState
	if err := c.call(wire.THeadState, &head); err != nil {
		return err
	}
	if head.Away != "" {
		return fmt.Errorf("the daemon (pid %d) runs, but the head of its cluster is away: %s", c.pid, head.Away)
	}
	var info wire.ClusterInfo
	if err := c.ask(wire.TClusterInfo, wire.ClusterAsk{Use: true}, &info); err != nil {
		return noStatus(c, err)
	}
	var requested []byte
	if err := c.ask(wire.TKVGet, wire.KVKey{Namespace: record.DemandNamespace, Key: []byte(record.DemandKey)}, &requested); err != nil {
		return noStatus(c, err)
	}
	tellUnused("status", unusedGiven(statusOptions, flags), errs)
	printStatus(out, dir, &info)
	printHeads(out, head.Heads)
	printRequested(out, requested)
	if m, ok := readMember(dir); ok && m.Insecure {
		fmt.Fprintf(out, "\nWithout encryption (%s)\n", process.InsecureText)
	}
	return nil
}

// sessionShown returns the session that the flag, EAGLERAY_ADDRESS or RAY_ADDRESS names, by the address of a head or by its folder; else the current one.
func sessionShown(command string, flags map[string]string) (string, error) {
	address, from := flags["--address"], "--address"
	for _, name := range []string{"EAGLERAY_ADDRESS", "RAY_ADDRESS"} { // as in a program
		if address == "" {
			address, from = os.Getenv(name), name
		}
	}
	if filepath.IsAbs(address) {
		return strings.TrimSuffix(address, "/d.sock"), nil
	}
	base, err := ownBase(flags)
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	if address == "" || address == "auto" || address == "local" {
		return currentSession(base)
	}
	dir, err := sessionOf(base, address)
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w", command, from, err)
	}
	return dir, nil
}

// noStatus says what it means that a daemon answers and the question for the cluster does not return.
func noStatus(c *cluster, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("the daemon (pid %d) runs, but the head of its cluster did not answer within %v: look whether the head runs and can be reached, or, where there are several heads, whether a majority of them runs (`eagleray heads list`); what the daemon saw is in %s",
		c.pid, callLimit, filepath.Join(c.dir, sessiondir.LogName))
}
