package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/eagleray/eagleray/core/internal/headprocess"
	"github.com/eagleray/eagleray/core/internal/nodeprocess"
	"github.com/eagleray/eagleray/core/internal/process"
)

// defaultPort is where a head listens, as in Ray.
const defaultPort = 6379

// nodeConfig is what the warden of a node is started with, as JSON.
type nodeConfig struct {
	Head *headprocess.Config `json:"head,omitempty"` // nil: the head is elsewhere
	Node nodeprocess.Config  `json:"node"`           // its Member has no heads when Head is given: they are those of Head
}

// clusterConfig adds to the configuration of a node what its head is, and how other machines reach it.
func clusterConfig(flags map[string]string, base string, c nodeprocess.Config) (n nodeConfig, err error) {
	host := listenHost(c.NodeIP)
	insecure := flags["--insecure"] != ""
	m := &nodeprocess.MemberConfig{Insecure: insecure, Listen: net.JoinHostPort(host, orZero(flags["--node-manager-port"]))}
	m.Web = webAt(flags, host, "--dashboard-agent-listen-port", agentPort)
	if flags["--metrics-export-port"] != "" {
		metricsHost := host
		if insecure { // the token would travel in the open
			metricsHost = "127.0.0.1"
		}
		m.Metrics = webAt(flags, metricsHost, "--metrics-export-port", 0)
	}
	n.Node = c
	n.Node.Member = m
	timeout, err := nodeTimeout(c.System, flags["--head"] != "")
	if err != nil {
		return n, err
	}
	exclusive, err := exclusiveActors(c.System, flags["--head"] != "")
	if err != nil {
		return n, err
	}
	if flags["--head"] == "" {
		if flags["--port"] != "" {
			return n, errors.New("--port is the port of a head, and --address joins one that runs: leave --port out")
		}
		if flags[stateFlag] != "" {
			return n, errors.New(stateFlag + " is where a head keeps the state of its cluster, and --address joins one that runs: leave " + stateFlag + " out")
		}
		if m.Heads, err = headAddresses(flags["--address"]); err != nil {
			return n, fmt.Errorf("--address: %w", err)
		}
		m.Token, err = joinToken(flags, base)
		return n, err
	}
	var others []string // heads of the cluster that this one joins
	if flags["--address"] == "" {
		m.Token, err = headToken(flags, base)
	} else if others, err = headAddresses(flags["--address"]); err != nil {
		err = fmt.Errorf("--address: %w", err)
	} else {
		m.Token, err = joinToken(flags, base)
	}
	if err != nil {
		return n, err
	}
	port, given := flags["--port"]
	if !given {
		port = strconv.Itoa(defaultPort)
	}
	state, err := stateDirOf(flags)
	if err != nil {
		return n, err
	}
	webHost := flags["--dashboard-host"]
	if webHost == "" {
		webHost = "127.0.0.1" // as in Ray
	}
	if n.Node.NodeIP == "" {
		n.Node.NodeIP = nodeprocess.LocalAddress()
	}
	dashboard := webAt(flags, webHost, "--dashboard-port", dashboardPort)
	dashboard.More = morePorts
	wanted, err := truth(flags["--include-dashboard"])
	n.Head = &headprocess.Config{
		Listen: net.JoinHostPort(host, port), AnyPort: !given, Host: n.Node.NodeIP, Join: others,
		Insecure: insecure, Token: m.Token, State: state, NodeTimeout: timeout, ExclusiveActors: exclusive,
		Web: dashboard, NoJobs: err == nil && !wanted, // not given: they are served
	}
	return n, nil
}

// Where processes answer over HTTP, as in Ray.
const (
	dashboardPort = 8265  // of a head
	agentPort     = 52365 // of each node
	morePorts     = 50    // above that of the dashboard, as Ray tries
)

// webAt says where a process answers over HTTP.
func webAt(flags map[string]string, host, flag string, usual int) *process.WebConfig {
	port, given := flags[flag]
	if !given {
		port = strconv.Itoa(usual)
	}
	return &process.WebConfig{Listen: net.JoinHostPort(strings.Trim(host, "[]"), port), Flag: flag, Given: given}
}

func orZero(port string) string {
	if port == "" {
		return "0"
	}
	return port
}

// listenHost is where a node listens: at all addresses of the machine, because an address given for others need not be one
// of its own (behind NAT, for example). A loopback address is for this machine only.
func listenHost(nodeIP string) string {
	if a, err := netip.ParseAddr(nodeIP); err == nil && a.IsLoopback() {
		return nodeIP
	}
	return ""
}

// maxHeads is more than a cluster has.
const maxHeads = 16

// headAddresses reads HOST:PORT[,HOST:PORT…].
func headAddresses(text string) (list []string, err error) {
	for _, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		host, number, err := net.SplitHostPort(one)
		if err == nil {
			err = nodeAddress(host)
		}
		if err == nil {
			if err = port(number); err == nil && number == "0" {
				err = errors.New("port 0 is none to connect to")
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not HOST:PORT, such as 10.0.0.1:%d: %w", one, defaultPort, err)
		}
		list = append(list, one)
	}
	if len(list) == 0 || len(list) > maxHeads {
		return nil, fmt.Errorf("%q names %d heads, must be 1 to %d", text, len(list), maxHeads)
	}
	return list, nil
}

// needHead says that start was told neither to begin a cluster nor to join one.
func needHead(flags map[string]string) error {
	if flags["--head"] == "" && flags["--address"] == "" {
		hint := ""
		if a := os.Getenv("RAY_ADDRESS"); strings.Contains(a, ":") {
			hint = fmt.Sprintf(" (RAY_ADDRESS, which is %s, is for programs and not for this command)", a)
		}
		return usage("start: give --head to begin a cluster on this machine, or --address=HOST:PORT to join one%s", hint)
	}
	return nil
}
