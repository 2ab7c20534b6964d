package wire

// Who holds what. The one who asks sends Census to the daemon; the daemon sends
// Tally to every process of the session and answers with all of it.

// CensusAsk says how much of it is wanted.
type CensusAsk struct {
	Limit     int   // rows of a kind from one process
	TimeoutMs int64 // for a process to answer
	Objects   bool
	Tasks     bool
}

// FootprintAsk asks a daemon what its process has of memory. Collect: after
// everything that nobody refers to is freed, which stops it for milliseconds.
type FootprintAsk struct {
	Collect bool
}

// Census answers CensusAsk.
type Census struct {
	NodeID  []byte
	Tallies []Tally
	Silent  []Silent // processes that did not answer
	Places  []Place  // of the objects in Tallies that the store has
	Store   StoreSums
	Actors  []ActorRow
	Jobs    []JobRow
	Workers []WorkerRow
	Nodes   []NodeInfo
}

// Silent is a process whose part is missing.
type Silent struct {
	Pid      int
	Role     string
	WorkerID []byte
	Why      string
}

// Tally is what one process owns, borrows, runs and waits for.
type Tally struct {
	Pid      int
	Role     string
	WorkerID []byte
	JobID    []byte
	ActorID  []byte // of the actor that it hosts

	Objects []Held
	Owned   int    // objects in its table: Objects may be fewer, the largest
	Borrows int    // of others
	Bytes   uint64 // of those that it owns
	Looked  int    // at so many for Bytes and Objects

	Tasks   []TaskRow // unfinished ones that it submitted
	Open    int       // how many there are
	Runs    []Run     // that it runs
	Ended   []TaskRow // of those that ended the last ones
	ByMaker []Ends
	Ran     []TaskRow // of what others submitted: what it runs, and has run last
}

// Held is one object as a process holds it.
type Held struct {
	ObjectID  []byte
	Owned     bool
	State     string // "pending", "infeasible", "evicted", "inline", "stored", "failed"
	Size      int64  // -1: not known
	Local     int    // references of the program
	Tasks     int    // unfinished tasks that take it
	Captured  int    // values that contain it
	Replies   int    // results on their way that contain it
	Viewed    bool   // a value of the program looks at its memory
	ActorID   []byte // it counts the handles of this actor
	Borrowers [][]byte
	Site      string // "(put object) | file:function:line"
	Maker     string // the function that makes it
	TaskState string // of the task that makes it, "" when there is none any more
	Attempt   int    // of that task, from 0
	Lineage   int    // finished tasks that are kept and took it
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
	LeaseID   uint64 // where it was sent
}

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

// Place is where the node has an object.
type Place struct {
	ObjectID []byte
	Where    string // "arena", "creating"; others as package daemon says
	Size     uint64
	Pins     int // processes that look at it
}

// StoreSums are the store's totals.
type StoreSums struct {
	Capacity, Used  uint64
	Objects, Pinned int
	Peak            uint64
	More            map[string]uint64 // what else is counted, by name: spilling
}

// ActorRow is one actor, living or dead.
type ActorRow struct {
	ActorID, JobID, NodeID, WorkerID []byte
	ClassName, Name, Namespace       string
	State                            string // as Ray calls it
	Pid                              int
	Detached                         bool
	Restarts                         int
	Resources                        map[string]int64
	Reason, Message                  string // why it is dead
	StartedMs, EndedMs               int64
}

// JobRow is one driver's run.
type JobRow struct {
	JobID                        []byte
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
	Reason, Detail              string // how it ended
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
