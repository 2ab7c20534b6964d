package wire

// All structs travel as msgpack arrays in field order; both ends must know the
// same fields, so a change of any is a new Version. Resource amounts are in
// units of 1/10000.

// Roles of a process that says hello to a daemon.
const (
	RoleDriver    = "driver"
	RoleWorker    = "worker"
	RoleService   = "service" // a Go program
	RoleCLI       = "cli"
	RoleHandover  = "handover"  // a worker that hands over to a successor; then a parcel
	RoleSuccessor = "successor" // a successor: a client in the daemon's process that goes on in the place of a worker
	RoleProgress  = "progress"  // an actor's worker that asks for its page of begun calls; the answer carries it
	RolePromise   = "promise"   // an exclusive actor's worker that asks for the page of its node's promise; the answer carries it
	RoleReach     = "reach"     // a process that wants to reach one of another node; it sends its hello to that one right behind
	// To the daemon of another node, through a pipe:
	RoleGuest = "guest" // a process of another node that wants leases of this one
	// To another process's own socket:
	RoleControl = "control" // a Peer: references, cancellation
	RoleLease   = "lease"   // then data frames: tasks
	RoleActor   = "actor"   // then data frames: actor calls
)

// Hello is the first message on every connection.
type Hello struct {
	Version int
	Role    string
	Pid     int
	Token   string // worker: the token that its fork was ordered with; successor: the token of its predecessor
	OwnerID []byte // to a process, RoleGuest: the caller, 12 bytes; RoleHandover, RoleProgress: the worker that says hello; RoleReach: whom the caller wants to reach
	Addr    string // to a process: the caller's own address
	LeaseID uint64 // RoleLease; RoleActor: the caller's number for this connection
	ActorID []byte // RoleActor
	Slot    int    // RoleLease: where on the page that comes with it begun tasks are noted; 0: nowhere
	JobID   []byte // RoleLease, RoleActor, RoleGuest: the caller's job, which is part of the ids of its objects

	Namespace string // RoleGuest: of the caller's job
}

// HelloReply answers Hello. To a process's own socket only Version is set. A guest gets Version,
// NodeID, NodeAddr and Totals.
type HelloReply struct {
	Version    int
	NodeID     []byte
	WorkerID   []byte // 28 bytes; the first 12 are the owner id, of which an address is made
	JobID      []byte // worker: the job that it serves; driver: comes with JobStarted
	SessionDir string
	NodeAddr   string // of the machine, as other machines would name it
	Socket     string // the path at which this process must listen
	ArenaBytes uint64
	DaemonPid  int
	Totals     Totals
	Namespace  string // worker: of its job
}

// Totals are the declared resources of the cluster.
type Totals struct {
	Resources map[string]int64
	CanGrow   bool // other nodes or an autoscaler may have more: the head decides what is infeasible
	Wait      bool // infeasible="wait": never fail what does not fit

	LargestGPU int64 // bytes of the GPU with the most memory, 0 where none is known
}

// EnvSpec is what a worker process starts with. Two classes with equal specs
// share workers; Key is a hash of the rest, chosen by the client. Its fields have names for the
// binding, to which it comes as a map, and for other nodes (package linkmsg).
type EnvSpec struct {
	Key     string            `msgpack:"key"`
	Python  string            `msgpack:"python"` // interpreter, or the Go program of the workers
	SysPath []string          `msgpack:"sys_path"`
	Cwd     string            `msgpack:"cwd"`
	Env     map[string]string `msgpack:"env"`     // set in the worker; variables that libraries read at import included
	Preload []string          `msgpack:"preload"` // modules that the zygote imports
	Bare    bool              `msgpack:"bare"`    // preload nothing of the user's: variables are read at import
	JobEnv  map[string]string `msgpack:"job_env"` // the driver's own environment, base of the worker's

	Packages []Package `msgpack:"packages"`
	Needs    []Need    `msgpack:"needs"` // in the order in which they are met
}

// MaxNeeds bounds what one environment needs.
const MaxNeeds = 1024

// Need is something that a node provides before the first worker of an environment starts there (package provision).
type Need struct {
	Field   string // of the runtime environment: see the fields below
	What    string // JSON
	Package int    // 1 + the index in Packages of the folder or file that it is made of; 0: there is none
}

// The fields of needs. What is needed for the first four is a folder, which a program makes.
const (
	NeedWorkingDir = "working_dir"
	NeedModule     = "py_modules"
	NeedPip        = "pip"
	NeedUv         = "uv"
	NeedCommand    = "py_executable"             // What is a list: the interpreter and its arguments
	NeedHook       = "worker_process_setup_hook" // what a worker calls before it takes work
	NeedConfig     = "config"                    // What is a NeedLimits
)

// NeedLimits is how an environment is made.
type NeedLimits struct {
	Seconds float64 `json:"seconds"` // that making all may take; 0: without a limit
	Lazy    bool    `json:"lazy"`    // it is made when the first task needs it, and not when its job begins
}

// GoWorkerVar is a variable of environments whose workers are processes of a Go program (package core/worker). EnvSpec.Python is the path
// of that program then.
const GoWorkerVar = "EAGLERAY_GO_WORKER"

// GoCodePrefix marks the code of a function or actor that a Go worker program has registered: the prefix, then the name.
const GoCodePrefix = "\x00go:"

// MaxGoName bounds such a name, in bytes.
const MaxGoName = 1 << 10

// IsGo reports whether the workers of the environment are processes of a Go program.
func (e *EnvSpec) IsGo() bool { return e != nil && e.Env[GoWorkerVar] != "" }

// MaxPackages bounds the folders of one environment.
const MaxPackages = 1024

// Package is a folder or module of an environment. Cwd and SysPath have paths in it.
type Package struct {
	Path        string   // of the working directory, or of the module itself
	Module      bool     // py_modules: the folder above Path is in SysPath
	Excludes    []string // patterns of what is not copied
	NoGitignore bool     // .gitignore files exclude nothing

	// Set by the daemon that has packed the folder.
	Hash string // of the contents, in hexadecimal digits; "": it was not packed
	Node uint32 // on which Path is
}

// JobStart registers the driver's program.
type JobStart struct {
	Namespace   string
	Entrypoint  string
	Env         EnvSpec // the default of its tasks and actors
	LogToDriver bool
}

// JobStarted answers JobStart.
type JobStarted struct {
	JobID     []byte
	Namespace string
}

// ClassDefine describes a scheduling class of the sender: what every task in
// it needs. ClassID is the sender's own number.
type ClassDefine struct {
	ClassID   uint32
	Resources map[string]int64
	EnvKey    string
	Name      string // for messages: the function of the first task
	Strategy  string // as package strategy reads it
	Fallback  []Alternative
	AfterMs   int64 // how long a task waits for Resources before an alternative of Fallback may serve it
	Enforce   bool  // end a worker that exceeds its gpu_memory
}

// MaxAlternatives bounds a fallback.
const MaxAlternatives = 16

// Alternative is a set of resources to use when those that were asked for are not free. The
// fields after Resources are for actors.
type Alternative struct {
	Resources      map[string]int64
	RunResources   map[string]int64
	ClassName      string // of another class; "": the same class with other resources
	MaxConcurrency int
	Template       []byte // frame of the other class, in place of the creation frame body's
	Code           []byte // id of the object with the other class, of which the state keeps a copy; empty: Template has the class
}

// MaxLarge is how many large arguments of its oldest task a class names when it asks for leases.
const MaxLarge = 32

// LeaseWant says how many leases of a class the sender would take now beside
// those it holds. Each lease that is granted, offered elsewhere or refused lowers
// it by one; a new want replaces it.
type LeaseWant struct {
	ClassID uint32
	Want    int
	Seen    uint64 // how many leases of the class were granted, offered or refused as far as the sender knows, and 1; 0: it does not say

	// Of a class with AfterMs, whose sender measures how long each task waits:
	Due   int   // how many of Want, the oldest ones, have waited for AfterMs: an alternative may serve them
	DueMs int64 // in how many milliseconds the next one will have; 0: the sender does not say. Only for texts

	Large [][]byte // ids of the stored arguments of the oldest task, the largest first; at most MaxLarge. It had better run where they are
	Sizes []uint64 // how many bytes each of them has; empty: the sender does not say
	Homes []uint32 // the number of the node where the sender believes that each of them is; empty, or 0: it does not say

	// To another node, of the LeaseOffer that this want takes:
	Ticket  uint64 // 0: it takes none
	Recall  bool   // the node recalls leases for what does not fit
	Lasting bool
}

// LeaseGrant gives the sender a worker until LeaseReturn.
type LeaseGrant struct {
	ClassID    uint32
	LeaseID    uint64 // its upper half is the number of the worker's node
	WorkerID   []byte
	Addr       string
	Pid        int
	Assignment Assignment
	Choice     int  // 0: Resources of the class; else which alternative, from 1
	Better     bool // a choice before it may come free
	Never      bool // the class's own Resources can never be had: nothing is waited for
}

// Assignment is what a lease gives: amounts, device ids per resource name and
// the variables that the worker sets before user code runs.
type Assignment struct {
	Resources map[string]int64
	Devices   map[string][]string // "GPU": ["0"]
	Env       map[string]string
	IntIDs    bool // get_gpu_ids gives ints
}

// LeaseReturn ends a lease. Exiting: the worker ends by itself (max_calls);
// its devices are free when the process is gone. Unusable: do not reuse it.
type LeaseReturn struct {
	LeaseID  uint64
	Exiting  bool
	Unusable bool
}

// LeaseMove says which class of its holder's a lease serves from now on.
type LeaseMove struct {
	LeaseID uint64 `msgpack:"lease_id"`
	ClassID uint32 `msgpack:"class_id"`
}

// LeaseRef names a lease.
type LeaseRef struct {
	LeaseID uint64
}

// LeaseBroken reports the end of a leased worker.
type LeaseBroken struct {
	LeaseID uint64
	Detail  string // "worker pid 12 was killed by signal 9 (SIGKILL)"
	Code    string // what its task fails with, "" for a crash
	Bytes   uint64 // code out_of_memory: what the worker held, 0 when not known
	Memory  int64  // code out_of_memory: the most of the resource memory that one living node has in all

	// To a guest, who has no page of begun tasks at the worker:
	Begun uint32 // the number of the task that the worker began last, 0 for none
	Known bool   // that is known
}

// Running says what a worker runs.
type Running struct {
	Name  string // the function of the newest call
	AgeUs int64  // how long ago the newest call began
	Busy  int    // how many calls run
	Once  bool   // one of the calls must not run twice
	Call  uint64 // the number of the newest call among all that this worker has begun
}

// ClassTrouble says why a class gets nothing.
type ClassTrouble struct {
	ClassID uint32
	Message string // what was asked and what there is
	Code    string // "" or "task_unschedulable": for good; "runtime_env_setup": its environment cannot be made
	ActorID []byte // TWhoHolds: about this actor instead
}

// WorkerReady is sent by a worker once it listens at its address.
type WorkerReady struct {
	Pid int
}

// WorkerExit announces an exit on purpose and why ("max_calls", "exit_actor").
type WorkerExit struct {
	Reason string
	Ran    []TaskRow // what the worker has run last, at most MaxLastRuns; what it still runs ends it, and is finished
}

// MaxLastRuns is how many tasks of a worker that has ended are known.
const MaxLastRuns = 64

// ExitAnswer says what keeps a worker that was told to exit.
type ExitAnswer struct {
	Needed bool // the worker is idle, and others hold objects that it owns: it exits later
	Runs   bool // calls run or wait in the worker, and its program has not begun to end
}

// TakenOver tells a successor which worker's place it has taken.
type TakenOver struct {
	WorkerID []byte
	Socket   string   // the path at which it listened
	LeaseIDs []uint64 // the leases of the predecessor
}

// LogBatch carries output of workers to their job's driver.
type LogBatch struct {
	Lines []LogLine
}

// LogLine is one line (without its newline) of a worker's output.
type LogLine struct {
	Pid      int
	Name     string // task or actor; "" before the first
	Stderr   bool
	Carriage bool // ended by \r: a progress line that the next replaces
	Text     string
	Source   string // "" for a worker; "daemon" for the runtime's own warnings
	Node     string // the address of the node, "" for that of the driver's node
}

// ActorCreate registers an actor and starts it.
type ActorCreate struct {
	ActorID         []byte
	Name            string
	Namespace       string
	ClassName       string
	Detached        bool
	GetIfExists     bool
	OwnerID         []byte
	OwnerAddr       string
	JobID           []byte
	Resources       map[string]int64 // needed to be placed
	RunResources    map[string]int64 // held while it lives
	EnvKey          string
	MaxRestarts     int
	MaxConcurrency  int
	MaxPendingCalls int
	Fallback        []Alternative
	AfterMs         int64  // as in ClassDefine
	Strategy        string // as in ClassDefine
	Spec            []byte // creation frame body, opaque to the daemon
	Meta            []byte // what get_actor needs to build a handle
	Token           string // to count handles: token id, '@', owner's address; empty when detached
	Enforce         bool   // as in ClassDefine
	Code            []byte // id of the object with the class, of which the state has a copy; empty: Spec has the class
	Exclusive       int8   // Yes, No or Unsaid: at most one incarnation at a time begins calls
}

// Answers to a question to which the cluster has an answer, too.
const (
	Unsaid = 0 // the cluster's holds
	Yes    = 1
	No     = 2
)

// ActorCreated answers ActorCreate. Existing is set when GetIfExists found one.
type ActorCreated struct {
	Existing *ActorNamed
}

// ActorRef names an actor.
type ActorRef struct {
	ActorID []byte
}

// ActorResolve asks for an incarnation of the actor that is later than After (0: any).
type ActorResolve struct {
	ActorID []byte
	After   uint64
}

// States of an actor as callers see them.
const (
	ActorAlive         = "ALIVE"
	ActorDead          = "DEAD"
	ActorUnschedulable = "UNSCHEDULABLE"
	ActorRestarting    = "RESTARTING" // in ActorDeath
)

// ActorState answers ActorResolve.
type ActorState struct {
	State        string
	Incarnation  uint64
	Addr         string
	Pid          int
	NodeID       []byte
	WorkerID     []byte
	Cause        string // fault code when DEAD
	Message      string
	Error        []byte // envelope of the constructor's exception, if that was the cause
	Unregistered bool   // ALIVE: as in ActorReady
}

// ActorKill ends an actor. The answer is its ActorDeath with NoRestart, else nothing.
type ActorKill struct {
	ActorID   []byte
	NoRestart bool
}

// ActorByName looks a name up.
type ActorByName struct {
	Name      string
	Namespace string
}

// ActorNamed is what a handle is made from.
type ActorNamed struct {
	ActorID []byte
	Meta    []byte
}

// ActorNames asks for the live named actors.
type ActorNames struct {
	Namespace string
	All       bool
}

// ActorName is one row of the answer.
type ActorName struct {
	Name      string
	Namespace string
}

// ActorStart tells a pooled worker to become an actor.
type ActorStart struct {
	ActorID        []byte
	Name           string
	Namespace      string
	ClassName      string
	Incarnation    uint64
	MaxConcurrency int
	Assignment     Assignment
	Template       []byte // of another class than Spec's, from an alternative
	Spec           []byte
	Meta           []byte
	Token          string // to count a handle that the actor gives of itself
	Restarts       bool   // it has a page on which it notes which calls it begins
	Exclusive      bool   // it looks at its node's promise before it begins a call, see RolePromise
	Code           []byte // id of the object with the class, to be had with TCodeGet; empty: Spec or Template has the class
	Strategy       string // its scheduling strategy, which names the placement group that it runs in
}

// CodePart brings the cluster's state a part of an object with a large class,
// before the actor is registered. With Size 0 it only asks whether the state has
// the object, and if so takes it for the actor.
type CodePart struct {
	ActorID  []byte
	ObjectID []byte
	Size     uint64 // of the whole
	Offset   uint64
	Data     []byte
}

// CodeHave answers CodePart: how many bytes the state has, from the first on.
type CodeHave struct {
	Have uint64
	Size uint64 // 0: the state does not know the object
}

// CodeAt asks for an object that the state keeps, from an offset on.
type CodeAt struct {
	ObjectID []byte
	Offset   uint64
}

// CodeData answers CodeAt with some of the bytes.
type CodeData struct {
	Data []byte
	Size uint64 // of the whole
}

// ActorReady reports that the constructor has ended. Message and Error are empty on success.
type ActorReady struct {
	ActorID      []byte
	Incarnation  uint64
	Message      string // why it failed
	Repr         string // what its __repr__ returns if its class has one, at most MaxRepr bytes; an older worker says nothing
	Error        []byte // envelope of the exception
	Unregistered bool   // references that the actor keeps may not be registered yet: see TRegistered
}

// MaxRepr is how many bytes of an actor's __repr__ are shown.
const MaxRepr = 1 << 10

// KVPut stores a value.
type KVPut struct {
	Namespace string
	Key       []byte
	Value     []byte
	Overwrite bool
}

// KVKey names a value, or a prefix.
type KVKey struct {
	Namespace string
	Key       []byte
	Prefix    bool
}

// KeyWatch asks for the changes of the keys with a prefix after a place in the sequence of all changes.
type KeyWatch struct {
	Number uint64 // of the sender's own, for TKeyUnwatch
	Prefix string
	From   uint64
}

// FaultBody is a fault inside another message.
type FaultBody struct {
	Code    string
	Message string
	Task    string
}

// Cancel asks the executor of a task to end it, or the owner of an object to
// have the task ended that computes it.
type Cancel struct {
	TaskID    []byte
	Force     bool
	Recursive bool
	ObjectID  []byte // to an owner, in place of TaskID
}

// Received lets the executor of a call drop what it held for its answer with this number.
type Received struct {
	Answer uint64
}

// AnswersRead asks the caller of a task socket that broke about this socket, as the caller's hello named it.
type AnswersRead struct {
	Actor  bool   // its role was RoleActor, otherwise RoleLease
	Number uint64 // Hello.LeaseID
}

// ActorLost says that the sender's connection to an incarnation broke.
type ActorLost struct {
	ActorID     []byte
	Incarnation uint64
	Conn        uint32 // the sender's number for that connection
}

// ActorNever is an incarnation that no actor reaches: ActorLost with it is answered when the actor is dead.
const ActorNever = 1<<64 - 1

// ActorDeath answers ActorLost. State is ActorAlive when the incarnation lives and only the
// connection broke, ActorRestarting when the next incarnation will follow, else ActorDead.
type ActorDeath struct {
	State   string
	Cause   string // fault code of the incarnation's end
	Message string // how it ended, and of which actor
	Error   []byte // when dead: envelope of the constructor's exception, if that was the cause
	Known   bool   // Started is known
	Started uint32 // the number of the latest call of that connection that was begun
}

// LeaseOffer says that another node has room for leases of a class. The receiver asks that
// node's daemon for them. Both ends count the offer as N grants of the class.
type LeaseOffer struct {
	ClassID uint32
	Node    uint32 // the number of the other node
	N       int
	Choice  int    // of the class's resources: as in LeaseGrant
	Ticket  uint64 // goes along with the want
	Recall  bool   // it too: the node has no room, and recalls leases of those that have more there

	// Env is the class's environment, the first time that the process is offered leases for one of its classes.
	// The process defines it at the nodes where it uses it.
	Env *EnvSpec

	Lasting bool // the process works for a detached actor: what it submits goes on when the driver of its job leaves
}

// LeaseRefused takes a part of an offer back. From another node's daemon it says that this
// node grants so many leases less than it was asked for. To the own daemon it says that the
// sender does not use the offer, because nothing waits any more.
type LeaseRefused struct {
	ClassID uint32
	N       int
	Ticket  uint64
}
