package sched

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/resource"
	"github.com/eagleray/eagleray/core/internal/strategy"
)

// This file has everything that the scheduler knows. The other files have the methods.

// The machine's constants.
const (
	// RecallAfter is how long a want waits before holders of what it needs are
	// asked to give leases back, and how long a lease is left alone.
	RecallAfter = 5 * time.Millisecond
	// IdleTimeout is how long an idle worker that is not wanted stays in its pool.
	IdleTimeout = 60 * time.Second
	// SurplusFor is how long idle workers beyond MaxIdle stay. They are not stopped at once,
	// because tasks that wait for other tasks let more workers than CPUs run again and again.
	SurplusFor = time.Second
	// LeavingFor is how long a demand waits for what an ending worker holds before it takes an
	// alternative.
	LeavingFor = time.Second
	// MaxStartFailures is how many failed starts in a row end the wants of an environment.
	MaxStartFailures = 3
	// MaxCPULess is how many leases that need less CPU than MinCPU run at a time, blocked ones
	// not counted. Nothing else bounds the number of their processes.
	MaxCPULess = 256
	MinCPU     = resource.Unit / 20
)

// Options describe the node.
type Options struct {
	Ledger     *resource.Ledger
	MaxIdle    int      // pooled workers kept per job, at least 1
	MaxStarts  int      // workers being started at a time, at least 1
	WaitForFit bool     // never fail what exceeds the totals
	Cluster    bool     // there are other nodes, or may be: see overflow.go, where.go and guests.go
	Node       ids.Node // of this node, by which strategies name it
	Number     uint32   // of this node in the cluster
	// Labels are those of this node.
	Labels map[string]string
	// HeadPatience is how long this node has had room for a want that the head should decide, until it serves that want without
	// the head, which may be gone; 0: HeadPatience.
	HeadPatience time.Duration
	// FirstLease numbers the first lease; 0: 1. Its upper half is that of all leases, which
	// tells the leases of different machines apart.
	FirstLease LeaseID
}

// Machine is the scheduler's state. It is not safe for concurrent use.
type Machine struct {
	o       Options
	ledger  *resource.Ledger
	now     time.Duration
	actions []Action

	jobs    map[ids.Job]*job
	clients map[ClientID]*client
	workers map[WorkerID]*worker
	leases  map[LeaseID]*lease
	actors  map[ActorID]*demand // the demands of waiting actors
	waiting []*demand           // all demands with a want that is not reserved, in order of since
	pools   []*pool             // in order of creation

	bundles     map[ids.Group][]*bundles // of placement groups
	groups      map[ids.Group]*groupRow  // in which classes run, and that are followed
	dropped     []*worker                // that have leases in dropped bundles
	overflowing []*demand                // those that the head may have been told of
	company     bool                     // other nodes are alive
	drains      bool                     // see Drain

	starting      int // workers ordered and not ready
	cpuLess       int // unblocked leases without CPU
	turn          uint64
	claim         *demand
	claimNeeds    []resource.Set // the choices of claim that could be met
	claimSince    time.Duration
	noClaimBefore time.Duration // no claim before
	ending        bool          // some job has ended and is not forgotten yet
	nextPool      int           // turn of the pool that starts a worker
	nextLease     LeaseID       // see numberLease
	lastWorker    WorkerID
}

// New returns an empty machine at time 0.
func New(o Options) *Machine {
	o.MaxIdle, o.MaxStarts, o.FirstLease = max(o.MaxIdle, 1), max(o.MaxStarts, 1), max(o.FirstLease, 1)
	if o.HeadPatience == 0 {
		o.HeadPatience = HeadPatience
	}
	return &Machine{
		o: o, ledger: o.Ledger, nextLease: o.FirstLease,
		jobs:    make(map[ids.Job]*job),
		clients: make(map[ClientID]*client),
		workers: make(map[WorkerID]*worker),
		leases:  make(map[LeaseID]*lease),
		actors:  make(map[ActorID]*demand),
		bundles: make(map[ids.Group][]*bundles),
		groups:  make(map[ids.Group]*groupRow),
	}
}

// job is a program whose processes the node serves. served is the turn of its
// latest reservation, as in client and demand.
type job struct {
	id     ids.Job
	served uint64
	leases int // held by its clients and not recalled, as in client and demand
	idle   int // pooled workers
	ended  bool
	actors map[string]*demand // waiting actors by shape
	queue  client             // stands for its actors, which share a turn
}

// client is a connected process that may want leases.
type client struct {
	id      ClientID
	job     *job
	served  uint64
	leases  int
	guest   bool // it is a process of another node
	classes map[ClassID]*demand
}

// Class is what every task of a scheduling class needs.
type Class struct {
	ID       ClassID
	Need     resource.Set
	Env      string
	Name     string
	Strategy strategy.Strategy

	Else  []Choice      // the alternatives, in order
	After time.Duration // how long a task waits for Need before an alternative may serve it
}

// demand is a class with its want, or the waiting actors of one shape.
type demand struct {
	client  *client
	class   Class
	choices []Choice // the class's need, then the alternatives
	pool    *pool
	rank    int // of this node by its labels, 0 is best; below 0: the class does not run here

	want     int // leases wanted, reservations included
	reserved []*reservation
	leases   int    // held
	granted  uint64 // leases granted, offered and refused
	queue    []actorWant
	due      int           // wants of a class with After that an alternative may serve, reservations included
	dueAt    time.Duration // when one more will be due, as far as the client has said

	offered   uint64   // leases of other nodes that the head has offered
	told      told     // what the head knows of the wants that overflow
	near      []uint32 // nodes with large arguments
	allowed   int      // wants that the head lets this node serve, while it is told so
	room      bool     // this node has room, and the head decides
	roomSince time.Duration
	refused   uint64        // leases that were refused to a guest
	ticket    uint64        // of the want of a guest that is being served, 0 for none
	stays     time.Duration // until when wants of a guest may wait
	coming    int           // how many of them will be served by leases that are ending, as recall has found

	served     uint64
	since      time.Duration // the beginning of the wait
	reservedAt time.Duration // when it got its latest reservation
	waits      bool          // is in Machine.waiting
	dropped    bool          // its client or job is gone
	retired    bool          // nothing of it is wanted any more
	bundles    *bundles      // it stands for these
}

// actorWant is one waiting actor.
type actorWant struct {
	id     ActorID
	name   string
	since  time.Duration
	ticket uint64 // of the head's order, 0 for none
}

// reservation is a want whose resources are taken and that waits for a worker.
type reservation struct {
	demand  *demand
	choice  int
	hold    *resource.Allocation
	extra   *resource.Allocation // what an actor needs only to be placed, nil for none
	actor   actorWant
	cpuLess bool // counts in Machine.cpuLess
}

// lease is a worker given to a client.
type lease struct {
	id        LeaseID
	demand    *demand
	worker    *worker
	since     time.Duration
	recalled  bool
	wanted    bool // its holder was told that others wait
	exiting   bool // it was returned, and the hold ends with the process
	announced bool // the worker said that it would exit
}

// pool is the workers of one job and environment.
type pool struct {
	job      *job
	env      string
	idle     []*worker // the most recently used last
	queue    []*reservation
	starting int
	ordered  int // workers to be started without a reservation
	failures int

	spares spares
}

type workerState int

const (
	workerStarting workerState = iota
	workerIdle
	workerLeased
	workerActor
	workerEnding // stopped, or its lease was returned as exiting
)

type worker struct {
	id        WorkerID
	pool      *pool
	state     workerState
	lease     *lease
	actor     ActorID
	hold      *resource.Allocation // of its lease or actor, nil for none
	blocked   bool
	cpuLess   bool   // counts in Machine.cpuLess while not blocked
	devices   string // the devices that its process has seen; "" if none
	used      bool   // was given to a lease or an actor
	idleSince time.Duration
	dropAt    time.Duration // when it is ended because its bundle was dropped; 0: it is not
	leaves    bool          // it is workerEnding, or it is known that its process ends
	endSince  time.Duration // since when
}

// Actions returns what is to be done since the last call.
func (m *Machine) Actions() []Action {
	a := m.actions
	m.actions = nil
	return a
}

func (m *Machine) emit(a Action) { m.actions = append(m.actions, a) }

// Choice is one way to run what a class or an actor needs.
type Choice struct {
	Need resource.Set // to get a worker
	Run  resource.Set // of an actor: what it keeps while it lives
}

// spares says which workers a pool keeps before they are wanted.
type spares struct {
	n     int           // how many workers
	fresh bool          // the spares are for work with devices: only workers that have run nothing count
	until time.Duration // when the spares are given up
	ended time.Duration // when a worker ended with its task, 0 for never
	late  time.Duration // when an actor, alone, had to wait for a worker to start, 0 for never
}
