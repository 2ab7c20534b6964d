package wire

// The census: who holds what. A process sends CensusAsk to its daemon. The daemon asks every process of its node for its
// ProcessCensus, and every other node for its NodeCensus, and answers with all of them.

// CensusAsk says which rows of the census the asker wants, and how many.
type CensusAsk struct {
	Limit     int   // the rows of each kind that one process sends at most
	TimeoutMs int64 // how long a process may take to answer
	Objects   bool
	Tasks     bool
	Head      bool // only what the head knows: actors, jobs, nodes and placement groups
}

// FootprintAsk asks a daemon how much memory its process uses. With Collect the daemon
// collects its garbage first, which stops it for milliseconds.
type FootprintAsk struct {
	Collect bool
}

// Census answers CensusAsk.
type Census struct {
	NodeID []byte       // of the daemon that was asked
	Parts  []NodeCensus // of the nodes that have answered, the part of that daemon first
	Silent []SilentNode // the others
	Actors []ActorRow
	Jobs   []JobRow
	Nodes  []NodeInfo
	Groups []GroupRow
}

// NodeCensus is what the processes of one node hold.
type NodeCensus struct {
	NodeID    []byte
	Processes []ProcessCensus
	Silent    []Silent // processes that did not answer
	Places    []Place  // of those objects in Processes whose place this node knows
	Store     StoreSums
	Workers   []WorkerRow

	RuntimeEnvs []EnvRow // an older node says nothing
}

// SilentNode is a living node that has not answered.
type SilentNode struct {
	NodeID []byte
	Why    string
}

// Silent is a process whose ProcessCensus is missing.
type Silent struct {
	Pid      int
	Role     string
	WorkerID []byte
	Why      string
}

// ProcessCensus is what one process owns, borrows, runs and waits for.
type ProcessCensus struct {
	Pid      int
	Role     string
	WorkerID []byte
	JobID    []byte
	ActorID  []byte // the actor that lives in the process

	Objects []Held // the largest objects, if there are more than the limit
	Owned   int    // how many objects the process owns
	Borrows int    // how many objects of other owners it holds
	Bytes   uint64 // of the objects that it owns
	Looked  int    // how many objects were looked at for Bytes and Objects

	Tasks   []TaskRow // unfinished tasks that the process submitted
	Open    int       // how many of these there are
	Runs    []Run     // the tasks that it runs
	Ended   []TaskRow // the tasks that it submitted and that ended last
	ByMaker []Ends
	Ran     []TaskRow // tasks of other submitters that it runs, or has run last
}

// Held is one object as a process holds it.
type Held struct {
	ObjectID  []byte
	Owned     bool
	State     string // "pending", "infeasible", "evicted", "inline", "stored", "failed"
	Size      int64  // -1: unknown
	Local     int    // references of the program
	Tasks     int    // unfinished tasks that take it
	Captured  int    // values that contain it
	Replies   int    // results on their way that contain it
	Viewed    bool   // a value of the program looks at its memory
	ActorID   []byte // the object counts the handles of this actor
	Borrowers [][]byte
	Site      string // "(put object) | file:function:line"
	Maker     string // the function that makes it
	TaskState string // of the task that makes the object; "" when that has ended
	Attempt   int    // of that task, from 0
	Lineage   int    // how many finished tasks that took the object are kept
}

// TaskRow is one task or actor call.
type TaskRow struct {
	TaskID    []byte
	Name      string
	Method    bool
	ActorID   []byte
	State     string // as Ray calls it
	Attempt   int
	Site      string
	Resources map[string]int64
	LeaseID   uint64 // the lease to which the task was sent
	Code      string // why a task has failed: a code of package fault, "raised" for an exception; an older node says nothing
	Error     string // what went wrong, at most MaxTaskError bytes
	GroupID   []byte // the placement group in which it runs; empty: none
	StartedUs int64  // of what a worker runs or has run, since 1970; 0: not known
	EndedUs   int64
}

const (
	// Raised is the Code of a task that has raised an exception.
	Raised = "raised"
	// MaxTaskError is how many bytes of an error a TaskRow has.
	MaxTaskError = 4 << 10
)

// Run is a task that a process has begun.
type Run struct {
	TaskID    []byte
	StartedMs int64
}

// Ends counts the tasks of one function that have ended.
type Ends struct {
	Name     string
	Method   bool
	Finished uint64
	Failed   uint64
}

// Elsewhere is the Where of an object that other nodes have, as the directory of its owner's node says.
const Elsewhere = "elsewhere"

// Place is where the node has an object.
type Place struct {
	ObjectID []byte
	Where    string // "arena", "creating"; other words as package objects says; Elsewhere, without a size
	Size     uint64
	Pins     int // how many processes have it pinned
}

// StoreSums are the store's totals.
type StoreSums struct {
	Capacity, Used  uint64
	Objects, Pinned int
	Peak            uint64
	More            map[string]uint64 // counters of spilling, by name
}

// ActorRow is one actor, living or dead.
type ActorRow struct {
	ActorID, JobID, NodeID, WorkerID []byte
	ClassName, Name, Namespace       string
	State                            string // as Ray calls it
	Pid                              int
	Detached                         bool
	Preempted                        int // how many restarts followed the preemption of a node
	Restarts                         int
	Resources                        map[string]int64
	Reason, Message                  string // why it is dead
	StartedMs, EndedMs               int64
	Strategy                         string // as package strategy reads it
}

// GroupRow is one placement group.
type GroupRow struct {
	GroupID, JobID        []byte
	Name, Strategy, State string
	Detached              bool
	Bundles               []GroupBundle
	Nodes                 []string // the id of each bundle's node in hex, "" for a bundle without one
	CreatedMs, PlacedMs   int64
	Infeasible            string // why its bundles can never be placed
}

// JobRow is one driver's run.
type JobRow struct {
	JobID, NodeID                []byte // NodeID: where the driver runs or ran
	State, Entrypoint, Namespace string
	Message                      string
	Pid                          int
	StartedMs, EndedMs           int64
}

// WorkerRow is one process of the session, living or lately ended.
type WorkerRow struct {
	WorkerID, JobID, ActorID    []byte
	Role                        string
	Pid                         int
	Alive                       bool
	StartedMs, ReadyMs, EndedMs int64
	Reason, Detail              string    // how it ended
	Repr                        string    // of the actor that it hosts or hosted; empty: its class has no __repr__
	Ran                         []TaskRow // the tasks that a worker which has ended ran last; an older node says nothing
}

// EnvRow is one runtime environment on one node.
type EnvRow struct {
	RuntimeEnv string // JSON, as the user has written it
	Success    bool   // workers can start in it
	SetupUs    int64  // how long it took until they could
	Users      int    // the workers that are there
	Error      string // why it could not be set up
}

// FunctionRef names a function.
type FunctionRef struct {
	FID []byte
}

// States of a task, as Ray calls them.
const (
	TaskWaitsForArguments = "PENDING_ARGS_AVAIL"
	TaskWaitsForNode      = "PENDING_NODE_ASSIGNMENT"
	TaskWaitsForActor     = "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY"
	TaskSubmitted         = "SUBMITTED_TO_WORKER"
	TaskRunning           = "RUNNING"
	TaskFinished          = "FINISHED"
	TaskFailed            = "FAILED"
)
