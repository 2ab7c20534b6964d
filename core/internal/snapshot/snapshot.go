package snapshot

import (
	"github.com/eagleray/eagleray/core/internal/frame"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Version is the version of the snapshot. A process restores its own version only.
const Version = 3

// Submitter is what another process needs to go on with a submit.Submitter: with each task
// and call that has no answer, the actors that others may call, the open channels, and
// the finished tasks that are kept for their results.
type Submitter struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack  struct{} `msgpack:",as_array"`
	Version   int
	Templates []Template
	Tasks     []Task
	Actors    []Actor
	Channels  []Channel
	Recipes   []Recipe // the oldest first
	Lost      []Lost
	Homes     []Home
}

// Template is a template with its number and the number of its scheduling class.
type Template struct {
	Number     int
	Class      uint32 // of a method: 0
	Kind       int
	Name       string
	FID        []byte
	Blob       []byte // nil: no task of the snapshot needs the function
	Method     string
	Returns    int
	MaxRetries int
	RetryErrs  bool
	MaxCalls   int
	Resources  map[string]int64
	EnvKey     string
	Strategy   string
	Fallback   []Template
	AfterMs    int64
	Enforce    bool
	MoreMemory bool
	Flow       frame.Flow
	Group      string
	Unordered  bool
	Hidden     bool
	Near       uint32
	Forget     bool
}

// Task is a task without an answer.
type Task struct {
	Template int // in Submitter.Templates
	First    uint64
	Returns  int32
	Tries    int32
	Crashes  uint8
	OOMs     uint8
	Misses   uint8
	Format   uint8
	Seq      uint32
	Canceled bool
	Stored   bool
	Args     []byte
	ArgsRef  []byte
	Deps     [][]byte
	Nested   [][]byte
	Place    Place
	Aside    []byte // of an actor's call that is not in the actor's queue yet: the actor

	// Of a generator:
	Items uint64   // how many items have come
	Ahead uint64   // the last item to which a reference was asked for before it came
	GoOn  bool     // it runs to its end although nobody reads it
	Again bool     // it runs again for items that were lost
	Makes []uint64 // of a second run: the results that it makes, counted from the first
}

// Place is where a task without an answer is.
type Place uint8

// The places of a task.
const (
	PlaceWaiting Place = iota // in a queue, or waiting for arguments or for a retry
	PlaceSent                 // on a channel
	PlaceLost                 // sent to an actor that is gone, of which the head is being asked, or to a worker of another node that is gone: see Lost
)

// Actor is an actor that somebody may call.
type Actor struct {
	ID          []byte
	Name        string
	Token       []byte // nil: its handles are not counted
	Incarnation uint64 // the incarnation of its latest channel
	Limit       int
	Grouped     bool
	Calls       []int // in Submitter.Tasks; first those whose place is PlaceLost

	Creation *Creation // nil: its constructor has ended

	Broken bool   // its channel broke, and it is not known what became of the incarnation
	Number uint32 // the number of that channel

	Dead    *wire.FaultBody // nil: it is not dead
	DeadEnv []byte
	Raised  bool // the exception of its constructor is in the store, and is kept for whoever calls the actor
}

// Creation is an actor's constructor that has not ended, or may run again.
type Creation struct {
	Task     Task
	Template Template
	Request  wire.ActorCreate
	Announce bool
	Again    bool
}

// Channel is an open channel, with the calls on it that have no answer.
type Channel struct {
	Addr    string
	Seq     uint32
	Number  uint32
	Tasks   []int    // in Submitter.Tasks
	ActorID []byte   // nil: the channel leads to the worker of a lease
	Filled  []string // of an actor: its concurrency groups that take no more calls for now

	// Of a lease:
	LeaseID uint64
	Class   uint32
	Choice  int
	End     *WorkerEnd // of a lease of another node: what its daemon has said about the worker's end; nil: nothing
}

// WorkerEnd is the word of another node's daemon about the end of a worker.
type WorkerEnd struct {
	Detail   string
	Code     string
	Held     uint64
	Begun    uint32
	Known    bool
	NodeLost bool // the node is dead or cannot be reached, and the word is this process's own
}

// Lost is a lease of another node whose worker has ended, as the end of its socket says. Its daemon has not said yet how.
type Lost struct {
	LeaseID uint64
	Class   uint32
	Choice  int
	Tasks   []int // in Submitter.Tasks, as they were sent
}

// Home is another node that knows a scheduling class, and how many leases of the class it has granted or refused.
type Home struct {
	Class   uint32
	Node    uint32
	Answers uint64
}

// Recipe is a finished task that is kept for its results, or one that runs
// again for them.
type Recipe struct {
	Again   int  // in Submitter.Tasks; -1: it does not run
	Task    Task // of a task that does not run; Deps and Nested are those below
	Actor   []byte
	Deps    []Ref
	Nested  []Ref
	Results [][]byte
}

// Ref names an object that the reference table may not have.
type Ref struct {
	ID   []byte
	Addr string
}
