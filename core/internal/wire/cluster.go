package wire

// The messages about nodes: what a daemon tells its processes of its own node and of the others.

// ClusterAsk asks for ClusterInfo.
type ClusterAsk struct {
	Use bool // also what is in use on the other nodes
}

// ClusterInfo describes nodes and resources.
type ClusterInfo struct {
	Nodes   []NodeInfo
	Totals  Totals       // of the answering node
	NodeUse              // of the daemon that answers
	Others  []NodeUse    // of the other nodes, if asked for
	Silent  []SilentNode // nodes that should be in Others, and have not answered
}

// NodeUse is what one node has, and what of that is in use or waits.
type NodeUse struct {
	NodeID    []byte
	Resources map[string]int64
	Available map[string]int64
	Jobs      int // whose drivers are on this node
	Workers   int
	Actors    int
	Pending   map[string]int // class name → leases wanted and not granted
	Demands   []Demand       // what of Pending has no resources yet
	GPUUses   []GPUUse       // what workers hold of GPUs, as last seen
	Store     StoreSums
}

// Demand is what a number of tasks or actors waits for. A task or actor with alternatives
// counts with one of them.
type Demand struct {
	Name      string
	Resources map[string]int64
	Count     int
}

// GPUUse is what one worker holds of one GPU's memory.
type GPUUse struct {
	Pid    int
	Name   string // the function of the worker's task or the class of its actor
	Device string
	Bytes  int64
	Share  int64 // gpu_memory that it asked for, 0 if it did not
}

// NodeInfo is one row of nodes().
type NodeInfo struct {
	NodeID     []byte
	Number     uint32 // the upper half of its leases' ids, and the begin of its processes'
	Alive      bool
	Name       string
	Address    string
	Hostname   string
	SessionDir string
	Pid        int
	Resources  map[string]int64
	Available  map[string]int64
	Labels     map[string]string
	IsHead     bool

	Unreachable bool   // nothing was heard of it for some seconds; nothing new is placed there
	Reason      string // why it is dead

	// Of a node that gets no new work and leaves, or has left for that reason.
	DrainReason     string // empty: it is not drained
	DrainMessage    string
	DrainDeadlineMs int64 // 0: there is none

	StartedMs int64 // 0 of an older head
	EndedMs   int64
}

// DrainNode asks that a node gets no new work and leaves the cluster.
type DrainNode struct {
	NodeID  []byte
	Reason  string // a record.DrainReason
	Message string
	LeftMs  int64 // after how long the node ends although it works; 0: never
}

// Drained answers it.
type Drained struct {
	Refused string // why the node stays; empty: it leaves
}

// HeadState is whether a daemon hears the head of its cluster, and what it knows of all heads.
type HeadState struct {
	Away  string // for how long it has not, and why; empty: it does, or has not noticed yet
	Heads []HeadInfo
}

// HeadInfo is what a node knows of a head.
type HeadInfo struct {
	Number    uint32
	Addresses []string // HOST:PORT
	Role      string   // one of those below
	Why       string   // why it is not healthy; empty: it is, as far as the node knows
}

// The roles of heads.
const (
	HeadLeads         = "leader"
	HeadVotes         = "voter"
	HeadStandsBy      = "standby"
	HeadOfUnknownRole = "head" // no head that leads has said it
)

// Ending says why a daemon ends.
type Ending struct {
	Reason string
}
