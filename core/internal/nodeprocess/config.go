package nodeprocess

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/accelerator"
	"github.com/eagleray/eagleray/core/internal/daemon"
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/process"
	"github.com/eagleray/eagleray/core/internal/provision"
	"github.com/eagleray/eagleray/core/internal/resource"
)

// Config is the JSON that a daemon is started with; docs/protocol.md. What is
// absent is detected.
type Config struct {
	NumCPUs           *float64           `json:"num_cpus,omitempty"`
	NumGPUs           *float64           `json:"num_gpus,omitempty"`
	GPUMemory         []int64            `json:"gpu_memory,omitempty"` // bytes, of every GPU or of each
	Resources         map[string]float64 `json:"resources,omitempty"`
	Memory            *uint64            `json:"memory,omitempty"`              // bytes
	ObjectStoreMemory *uint64            `json:"object_store_memory,omitempty"` // bytes
	Infeasible        string             `json:"infeasible,omitempty"`          // "raise" (the default) or "wait"
	Labels            map[string]string  `json:"labels,omitempty"`
	NodeIP            string             `json:"node_ip,omitempty"`
	NodeName          string             `json:"node_name,omitempty"` // absent: its address, as in Ray
	Python            string             `json:"python,omitempty"`
	ParentPid         int                `json:"parent_pid,omitempty"`
	MetricsPort       *int               `json:"metrics_port,omitempty"` // of a daemon without other nodes, at 127.0.0.1; absent: metrics are not kept
	Member            *MemberConfig      `json:"member,omitempty"`       // absent: this daemon is its whole cluster
	Dashboard         *DashboardConfig   `json:"dashboard,omitempty"`    // absent: nothing is served over HTTP
	spillConfig
}

// MemberConfig is the part of a daemon's configuration that makes it a member of a cluster with other nodes.
type MemberConfig struct {
	Heads    []string            `json:"heads"`            // HOST:PORT
	Socket   string              `json:"socket,omitempty"` // of the head, if it is on this machine
	Listen   string              `json:"listen"`           // HOST:PORT for other nodes; port 0: a free one
	Insecure bool                `json:"insecure,omitempty"`
	Token    process.TokenSource `json:"token"`
	Web      *process.WebConfig  `json:"web,omitempty"`     // nil: nothing is served over HTTP
	Metrics  *process.WebConfig  `json:"metrics,omitempty"` // nil: metrics are not kept
}

// Shares of the machine's memory, as in Ray.
const (
	storeShare = 0.3
	maxStore   = 200_000_000_000
)

// onlyNode is the number of a node that is its whole cluster.
const onlyNode = 1

// options detects what is not given.
func (c *Config) options(dir string, log *slog.Logger) (daemon.Options, error) {
	here := machine.Here()
	o := daemon.Options{
		SessionDir: dir, Node: ids.NewNode(), Number: onlyNode, Name: c.NodeName, IsHead: c.Member == nil || c.Member.Socket != "", Log: log,
		CPUs: here.CPUs(), Interpreter: c.Python, GPUHelper: helper(), NVML: os.Getenv(nvmlVar), CUDA: os.Getenv(cudaVar),
	}
	switch c.Infeasible {
	case "", "raise":
	case "wait":
		o.WaitForFit = true
	default:
		return o, fmt.Errorf("infeasible must be \"raise\" or \"wait\", not %q", c.Infeasible)
	}
	if err := CheckName(c.NodeName); err != nil {
		return o, err
	}
	if o.Interpreter == "" {
		o.Interpreter = os.Getenv("EAGLERAY_PYTHON")
	}
	if o.Interpreter == "" {
		o.Interpreter = "python3"
	}
	o.Hostname, _ = os.Hostname()
	if c.Member != nil { // else the environment is that of the program which has started this process
		o.Env = workersEnv(os.Environ())
	}

	var err error
	if o.Memory, err = pressure.FromEnv(os.LookupEnv); err != nil {
		return o, err
	}
	if o.EnvironmentCaps, err = provision.CapsFromEnv(os.LookupEnv); err != nil {
		return o, err
	}
	if o.Spill, err = c.spillConfig.options(); err != nil {
		return o, err
	}
	devices, extra, err := c.devices(log)
	if err != nil {
		return o, err
	}
	o.Devices = devices
	if o.Labels, err = c.nodeLabels(os.LookupEnv, devices); err != nil {
		return o, err
	}
	given := maps.Clone(c.Resources)
	for name := range given {
		if accelerator.IsAccelerator(name) {
			delete(given, name) // their ids are their total
		}
	}
	totals, err := resource.FromFloats(given)
	if err != nil {
		return o, err
	}
	for name, n := range extra {
		if _, ok := totals[name]; !ok {
			totals[name] = n
		}
	}
	totals["CPU"] = resource.FromInt(int64(o.CPUs))
	if c.NumCPUs != nil {
		if totals["CPU"], err = resource.FromFloat(*c.NumCPUs); err != nil {
			return o, fmt.Errorf("num_cpus: %w", err)
		}
		o.CPUs = max(int(*c.NumCPUs), 1)
	}
	available := here.MemoryAvailable()
	o.ArenaBytes = min(uint64(float64(available)*storeShare), maxStore)
	for name, bytes := range map[string]*uint64{"object_store_memory": c.ObjectStoreMemory, "memory": c.Memory} {
		if bytes != nil && *bytes > uint64(resource.MaxBytes) {
			return o, fmt.Errorf("%s is %d bytes, at most %d are possible", name, *bytes, resource.MaxBytes)
		}
	}
	if c.ObjectStoreMemory != nil {
		o.ArenaBytes = *c.ObjectStoreMemory
	}
	memory := available - min(available, o.ArenaBytes)
	if c.Memory != nil {
		memory = *c.Memory
	}
	totals["memory"] = resource.FromInt(int64(memory))
	totals["object_store_memory"] = resource.FromInt(int64(o.ArenaBytes &^ (1<<12 - 1))) // whole pages
	if o.IsHead {
		totals["node:__internal_head__"] = resource.Unit
	}
	o.Totals = totals.Trim()
	switch {
	case c.NodeIP != "":
		addressed(&o, c.NodeIP)
	case c.Member == nil:
		addressed(&o, LocalAddress())
	}
	return o, nil
}

// addressed gives the node its address, which is its name, too, unless it has one.
func addressed(o *daemon.Options, address string) {
	o.Address = address
	if o.Name == "" {
		o.Name = address
	}
	o.Totals["node:"+address] = resource.Unit
}

// LocalAddress is the address that this machine reaches others from; nothing
// is sent.
func LocalAddress() string {
	c, err := net.Dial("udp", "8.8.8.8:53")
	if err != nil {
		return "127.0.0.1"
	}
	defer c.Close()
	if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
		return a.IP.String()
	}
	return "127.0.0.1"
}
