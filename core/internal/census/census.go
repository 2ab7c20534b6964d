package census

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/record"
)

// Process is a process of this node that can be asked what it holds.
type Process struct {
	Pid  int
	Role string
	Self ids.Worker
	Peer *wire.Peer
}

// Node is the daemon. Its methods do not wait for anybody.
type Node interface {
	// Asked returns the processes that a census asks, in the order in which they came.
	Asked() []Process
	// AddRows adds to a census what the daemon itself knows: its workers, its store, and the places of the objects that the processes have named.
	AddRows(out *wire.NodeCensus)
	// Use returns what the node has, and what of it is in use, waits or is free.
	Use() wire.NodeUse
	// CorrectJob may change a job's record before it is shown.
	CorrectJob(j *record.Job)
}

// Network leads to the daemons of other nodes.
type Network interface {
	// Control returns the control connection with a node. It does not wait.
	Control(node uint32) (*wire.Peer, error)
}

// Options are what a Census needs of its node.
type Options struct {
	Self    ids.Node
	Node    Node
	Network Network         // nil: there are no other nodes
	Context context.Context // ends with the daemon
	Refused func(error)     // notes that a message of another node makes no sense
}

// How long others may take to answer.
const (
	processWait = 3 * time.Second // a process
	useWait     = 2 * time.Second // a node that is asked what is in use
)

// maxRows is how many rows a census has, of all processes together.
const maxRows = 200_000

// Census answers what this node and the others do.
type Census struct {
	o      Options
	served atomic.Int32 // censuses that other nodes wait for

	mu     sync.Mutex
	silent map[question]time.Time // when the question was asked to which there is no answer in time
}

// New returns a Census.
func New(o Options) *Census { return &Census{o: o, silent: make(map[question]time.Time)} }

// Take answers a process's CensusAsk.
func (c *Census) Take(ctx context.Context, head inquiry.Reads, q *wire.CensusAsk) (*wire.Census, error) {
	patience := processWait
	if q.TimeoutMs > 0 {
		patience = min(patience, time.Duration(q.TimeoutMs)*time.Millisecond)
	}
	out := &wire.Census{NodeID: c.o.Self[:]}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	own := make(chan *wire.NodeCensus, 1)
	go func() { own <- c.here(ctx, q, maxRows, patience) }() // while the head is asked

	var err1, err2, err3, err4 error
	out.Nodes, err1 = inquiry.Nodes(ctx, head)
	out.Actors, err2 = inquiry.Actors(ctx, head)
	out.Jobs, err3 = inquiry.Jobs(ctx, head, c.o.Node.CorrectJob)
	out.Groups, err4 = inquiry.GroupRows(ctx, head)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	var others []wire.NodeCensus
	if !q.Head {
		others, out.Silent = c.elsewhere(ctx, out.Nodes, q, patience)
	}
	out.Parts = append([]wire.NodeCensus{*<-own}, others...)
	return out, nil
}

// Info answers nodes(), cluster_resources(), available_resources() and the status command.
func (c *Census) Info(ctx context.Context, head inquiry.Reads, q *wire.ClusterAsk) (info wire.ClusterInfo, err error) {
	if info.Nodes, err = inquiry.Nodes(ctx, head); err != nil {
		return info, err
	}
	if q.Use {
		info.Others, info.Silent = c.uses(ctx, info.Nodes)
	}
	info.NodeUse = c.o.Node.Use()
	for _, u := range info.Uses() {
		fill(info.Nodes, u)
	}
	return info, nil
}

// fill adds what is in use on a node to the node's row.
func fill(rows []wire.NodeInfo, u *wire.NodeUse) {
	for i := range rows {
		if row := &rows[i]; bytes.Equal(row.NodeID, u.NodeID) {
			row.Available = u.Available
			if n := u.Resources[resource.GPUMemory]; n > 0 {
				row.Resources = maps.Clone(row.Resources) // the node was registered before this was known
				row.Resources[resource.GPUMemory] = n
			}
		}
	}
}
