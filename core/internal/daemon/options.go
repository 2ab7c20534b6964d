package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/metrics"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/pipes"
	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/promise"
	"github.com/eagleray/eagleray/core/internal/pulls"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Devices is what the daemon needs to know of the node's accelerators;
// accelerator.Node has these methods.
type Devices interface {
	Devices() map[string][]string
	Env(devices map[string][]string) map[string]string
	ZeroEnv(devices map[string][]string) map[string]string
	IntIDs() bool
	GPUMemory() map[string]int64 // may take a moment, unless MemoryDeclared
	MemoryDeclared() bool
}

// Options describe a node.
type Options struct {
	SessionDir  string
	Node        ids.Node
	Number      uint32       // of the node: its processes' ids begin with it, and the numbers of its leases; never 0
	Totals      resource.Set // without those that come in devices
	Devices     Devices
	ArenaBytes  uint64
	CPUs        int  // for the bounds of the pool
	CanGrow     bool // nodes or an autoscaler may add resources
	WaitForFit  bool // infeasible="wait"
	Labels      map[string]string
	Name        string // what the node is called in lists, its address when nobody named it
	Address     string
	Hostname    string
	IsHead      bool
	Interpreter string            // for jobs that name none
	Env         map[string]string // variables of the node that its workers have too, unless their job or environment sets them
	GPUHelper   string            // eagleray-gpu, which opens NVIDIA's libraries
	NVML, CUDA  string            // those; "": where the dynamic linker finds them
	Memory      pressure.Options
	// EnvironmentCaps bounds what is kept of runtime environments that nothing uses: bytes by field. Nil: nothing is kept.
	EnvironmentCaps map[string]int64
	Log             *slog.Logger
	Spill           objects.SpillOptions
	Network         pipes.Network // leads to processes of other nodes; nil: there are no other nodes
	Objects         pulls.Network // leads to the daemons of other nodes; nil: there are none
	// HeadBulk dials a connection of its own to the head, for packages. Nil: there are no other nodes.
	HeadBulk func(context.Context) (net.Conn, error)
	// NodeOf returns what is known of another node. It may be nil.
	NodeOf func(number uint32) (record.Node, bool)
	// OtherReleases says in words which nodes of the cluster take no work of this node's programs because their processes speak another version of package wire; ""
	// if there are none. Nil: there are no other nodes.
	OtherReleases func() string
	// MostMemory returns the most of the resource memory that one living node of the cluster has. Nil: there are no other nodes.
	MostMemory func() int64
	// Cluster places what this node has no room for on other nodes. Where it is nil, this node is the only one.
	Cluster Cluster
	// Metrics takes what programs count and measure. It may be nil.
	Metrics *metrics.Registry
	// Bundles takes what becomes of orders to set bundles of placement groups aside.
	Bundles groups.Answers
	// HeadPatience is how long a want that Cluster should decide waits although this node has room for it; 0: sched.HeadPatience.
	HeadPatience time.Duration
	// Promise is where the node writes until when the cluster counts on it; nil: nobody can start elsewhere what this node has.
	Promise *promise.Page
	// HeadAway says for how long the head has not been heard, and why; empty: it is heard. Nil: the head is in this process.
	HeadAway func() string
	// Heads returns what this node knows of the heads. Nil: the head is in this process.
	Heads func() []wire.HeadInfo
	// HeadSilent says why no program can start now, because the head does not answer; nil: it does. It may be nil as HeadAway.
	HeadSilent func() error
	// Succeed runs the successor of the worker that hands over through u. The successor
	// names itself with the token. Succeed returns when the successor has ended. Where it
	// is nil, workers stay while they are needed.
	Succeed func(u *net.UnixConn, token string) error
}

// maxSocketPath is what the kernel takes, without the end mark.
const maxSocketPath = 107

// Check validates, and fills what may be absent; Open does it too.
func (o *Options) Check() error {
	if o.SessionDir == "" {
		return errors.New("the session directory is not given")
	}
	if n := len(o.SessionDir) + len("/p/.sock") + 2*ids.OwnerSize; n > maxSocketPath {
		return fmt.Errorf("session directory %s: its sockets' paths would have %d bytes, the system allows %d; set EAGLERAY_TMPDIR to a shorter one", o.SessionDir, n, maxSocketPath)
	}
	if o.Number == 0 {
		return errors.New("the node has no number: Options.Number must be set, to 1 where it is the only node")
	}
	if o.ArenaBytes < minArena {
		return fmt.Errorf("object_store_memory is %d bytes, at least %d are needed", o.ArenaBytes, minArena)
	}
	o.ArenaBytes &^= 1<<12 - 1 // whole pages
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.CPUs < 1 {
		o.CPUs = 1
	}
	return nil
}

// minArena is the smallest object store, as in Ray.
const minArena = 75 << 20
