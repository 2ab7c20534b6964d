package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/eagleray/eagleray/core/internal/heads"
	"github.com/eagleray/eagleray/core/internal/nodeprocess"
)

// symmetricName is the command that is typed on all machines alike, as Slurm's srun does. The machine that --address names has the head
// and runs the program; the others join and stay until the program has ended.
const symmetricName = "symmetric-run"

// symmetricWaitVar is Ray's: how long the head waits for nodes, and a node for the head; in seconds.
const (
	symmetricWaitVar = "RAY_SYMMETRIC_RUN_CLUSTER_WAIT_TIMEOUT"
	symmetricWait    = 30 * time.Second
	maxMinNodes      = 1 << 20
)

// notSymmetric are the flags of start that symmetric-run gives by itself.
var notSymmetric = []string{"--head", "--node-ip-address", "--port", "--block"}

// symmetricOptions are those of start, with some refused, and --min-nodes.
func symmetricOptions() []option {
	refused := func(string) error {
		return errors.New("leave it out: --address decides which machine has the head, and where it listens")
	}
	list := []option{
		{name: "--address", value: "HOST:PORT", about: "where the head listens; the machine with this address has the head and runs the program"},
		{name: "--min-nodes", value: "N", about: "the program begins when so many nodes are there (default: 1)"},
	}
	for _, o := range startOptions {
		switch {
		case o.name == "--address":
		case slices.Contains(notSymmetric, o.name):
			list = append(list, option{name: o.name, value: o.value, check: refused})
		default:
			list = append(list, o)
		}
	}
	return list
}

// symmetric is one run of the command.
type symmetric struct {
	flags    map[string]string // for start
	address  string            // HOST:PORT of the head
	minNodes int
	program  []string
	limit    time.Duration // for the head to answer, and for the nodes to come
	signals  chan os.Signal
	out      io.Writer
	errs     io.Writer
}

// entrypointError is the end of a program that failed. The command ends with its status.
type entrypointError struct{ status int }

func (e *entrypointError) Error() string {
	return fmt.Sprintf("%s: the program has ended with status %d", symmetricName, e.status)
}

// runSymmetric starts a node on this machine, runs the program if the head is here, and ends the node.
func runSymmetric(args []string, out, errs io.Writer) error {
	ours, program := args, []string(nil)
	at := slices.Index(args, "--")
	if at >= 0 {
		ours, program = args[:at], args[at+1:]
	}
	if askedHelp(symmetricName, symmetricOptions(), ours, out) {
		fmt.Fprintf(out, "\nThe program follows behind --, as in: eagleray %s --address=10.0.0.1:6379 --min-nodes=4 -- python program.py\n", symmetricName)
		return nil
	}
	s, err := newSymmetric(ours, program, at >= 0)
	if err != nil {
		return err
	}
	s.out, s.errs = out, errs
	base, err := ownBase(s.flags)
	if err != nil {
		return fmt.Errorf("%s: %w", symmetricName, err)
	}
	markKilled(base)
	if here := startedBelow(base); len(here) > 0 {
		return fmt.Errorf("%s: a node runs on this machine already (session %s); end it first with: %seagleray stop", symmetricName, here[0].dir, elsewhere(s.flags))
	}
	// From here on: a signal that comes early must not leave the node behind.
	signal.Notify(s.signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(s.signals)
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return err
	}
	ip, here, err := ownAddress(host, s.minNodes)
	if err != nil {
		return fmt.Errorf("%s: --address: %w", symmetricName, err)
	}
	if here {
		return s.lead(ip, port)
	}
	return s.follow()
}

// newSymmetric reads the command line.
func newSymmetric(args, program []string, separated bool) (*symmetric, error) {
	flags, err := parseFlags(symmetricName, symmetricOptions(), args)
	if err != nil {
		return nil, err
	}
	switch {
	case !separated:
		return nil, usage("%s: the program has to follow behind --, as in: -- python program.py", symmetricName)
	case len(program) == 0:
		return nil, usage("%s: there is no program behind --", symmetricName)
	case flags["--address"] == "":
		return nil, usage("%s: --address=HOST:PORT is needed: it says which machine has the head", symmetricName)
	}
	heads, err := headAddresses(flags["--address"])
	if err == nil && len(heads) > 1 {
		err = fmt.Errorf("%q names %d heads, must be 1", flags["--address"], len(heads))
	}
	if err != nil {
		return nil, usage("%s: --address: %v", symmetricName, err)
	}
	s := &symmetric{flags: maps.Clone(flags), address: heads[0], minNodes: 1, program: program, signals: make(chan os.Signal, 4)}
	delete(s.flags, "--address")
	delete(s.flags, "--min-nodes")
	if text := flags["--min-nodes"]; text != "" {
		if s.minNodes, err = strconv.Atoi(text); err != nil || s.minNodes < 1 || s.minNodes > maxMinNodes {
			return nil, usage("%s: --min-nodes: %q is not a whole number from 1 to %d", symmetricName, text, maxMinNodes)
		}
	}
	if s.limit, err = symmetricLimit(); err != nil {
		return nil, err
	}
	return s, nil
}

// symmetricLimit reads how long the machines wait for each other.
func symmetricLimit() (time.Duration, error) {
	text := os.Getenv(symmetricWaitVar)
	if text == "" {
		return symmetricWait, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > int((24*time.Hour).Seconds()) {
		return 0, usage("%s: %s: %q is not a whole number of seconds from 1 to a day", symmetricName, symmetricWaitVar, text)
	}
	return time.Duration(n) * time.Second, nil
}

// ownAddress says whether a host is this machine, and with which address other nodes reach it. Loopback addresses stand for every machine;
// with more than one node they are none of this machine, or each machine would begin a cluster of its own.
func ownAddress(host string, minNodes int) (ip string, here bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), heads.LookupLimit)
	defer cancel()
	found, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", false, fmt.Errorf("the name %s is not known: %w", host, err)
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return "", false, fmt.Errorf("the addresses of this machine: %w", err)
	}
	loopback := false
	for _, text := range found {
		a, err := netip.ParseAddr(text)
		if err != nil {
			continue
		}
		loopback = loopback || a.IsLoopback()
		if a.IsLoopback() && minNodes > 1 {
			continue
		}
		for _, i := range interfaces {
			if n, ok := i.(*net.IPNet); ok && n.IP.Equal(net.IP(a.AsSlice())) {
				return text, true, nil
			}
		}
	}
	// Many systems write the machine's own name with a loopback address into /etc/hosts.
	if name, err := os.Hostname(); loopback && err == nil && strings.EqualFold(name, host) {
		return nodeprocess.LocalAddress(), true, nil
	}
	return "", false, nil
}

// say tells what the command does. The output belongs to the program.
func (s *symmetric) say(format string, a ...any) {
	fmt.Fprintf(s.errs, "eagleray: "+symmetricName+": "+format+"\n", a...)
}
