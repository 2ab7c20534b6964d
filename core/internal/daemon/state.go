package daemon

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/actorends"
	"github.com/eagleray/eagleray/core/internal/census"
	"github.com/eagleray/eagleray/core/internal/complaints"
	"github.com/eagleray/eagleray/core/internal/groups"
	"github.com/eagleray/eagleray/core/internal/inquiry"
	"github.com/eagleray/eagleray/core/internal/joblogs"
	"github.com/eagleray/eagleray/core/internal/machine"
	"github.com/eagleray/eagleray/core/internal/objects"
	"github.com/eagleray/eagleray/core/internal/overflow"
	"github.com/eagleray/eagleray/core/internal/packages"
	"github.com/eagleray/eagleray/core/internal/pipes"
	"github.com/eagleray/eagleray/core/internal/pressure"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/provision"
	"github.com/eagleray/eagleray/core/internal/pulls"
	"github.com/eagleray/eagleray/core/internal/sched"
	"github.com/eagleray/eagleray/core/internal/visitors"
	"github.com/eagleray/eagleray/core/internal/wire"
	"github.com/eagleray/eagleray/core/internal/workers"
	"github.com/eagleray/eagleray/core/record"
)

// Daemon is the node role of one machine. See doc.go. The tables below mu, and the rows in
// them, are what mu guards; the types of the rows follow in this file.
type Daemon struct {
	o          Options
	log        *slog.Logger
	socket     *net.UnixListener
	began      time.Time
	complaints complaints.Log // of what is refused
	trimmer    machine.Trimmer

	headSet chan struct{} // closed when head is set
	head    Head
	ctx     context.Context // ended by Stop
	end     context.CancelFunc
	served  sync.WaitGroup

	mu         sync.Mutex
	m          *sched.Machine
	perform    func(sched.Action, workers.End) // carries out an order of the scheduler: carryOut in orders.go
	acting     bool                            // the scheduler's orders are being carried out
	timer      *time.Timer
	objects    *objects.Store
	clients    map[sched.ClientID]*client
	owners     map[ids.Owner]*client // those of clients that may own objects
	table      *workers.Table
	workers    map[sched.WorkerID]*worker // those of the table
	jobs       map[ids.Job]*job
	actors     map[ids.Actor]*actor
	handovers  map[string]*client // workers that hand over to a successor, by token
	lastClient sched.ClientID
	closing    bool
	ended      []wire.WorkerRow // the workers that ended last

	overflow *overflow.Reporter // nil where this node is the only one
	groups   *groups.Groups

	pipes         *pipes.Pipes       // those that end on this node
	packages      *packages.Store    // folders of runtime environments
	provided      *provision.Store   // what else they need
	pulls         *pulls.Pulls       // objects that other nodes have, too
	logs          *joblogs.Logs      // output of workers whose drivers are on other nodes
	jobsElsewhere *visitors.Visitors // what other nodes know of jobs
	ends          *actorends.Ends    // of actors' incarnations

	census *census.Census // what this node and the others do

	memory      *pressure.MemoryWatch
	gpus        *pressure.GPUWatch
	memoryKnown chan struct{} // closed when the scheduler knows how much memory the GPUs have

	failedStarts map[ids.Actor]int // see noteFailedStart
}

// client is one connected process. The daemon's lock guards its fields, except for those
// that are set before the connection is served.
type client struct {
	id          sched.ClientID
	role        string
	pid         int
	peer        *wire.Peer
	self        ids.Worker       // of drivers, services, workers and successors; of a guest the owner's id alone
	proc        *workers.Process // of a driver or a service; a worker's process is in the table of workers
	worker      *worker          // role worker
	predecessor *client          // of a successor, until it has taken over
	formerOwner ids.Owner        // of a worker whose successor took over: messages that the worker sent before name this owner

	outlivesDriver bool // of a successor that took over: its worker outlives the driver; of a guest: its process does, see outlive.go

	job  *job // nil for a driver before JobStart, and for the CLI
	gone bool

	classes map[sched.ClassID]class // those of its classes that want GPUs
	begun   progress.GuestPage      // of a guest: which tasks the workers of its leases have begun

	envs    map[string]bool    // environments that it can define at other nodes
	codeFor map[ids.Actor]bool // actors that it has not registered yet, but whose large class it has brought
	creates bool               // its id is the owner of actors: the head wants to hear of its end

	tasks   inquiry.Queue // requests to the head, in order
	keys    inquiry.KeyRequests
	pending inquiry.Pending // its questions to the head that wait
}

// class is what the daemon knows of a scheduling class and the scheduler does not.
type class struct {
	name    string
	enforce bool
}

// How long workers may take to end.
const (
	exitGrace    = time.Second     // from the request to exit to the kill
	killPatience = 5 * time.Second // from the kill to the end of the process
	leaveGrace   = time.Minute     // from the last answer of a worker that ends by itself to the kill
)

// worker is a process of the table of workers, with what the daemon knows of it
// besides. The daemon's lock guards it.
type worker struct {
	*workers.Worker
	d      *Daemon
	id     sched.WorkerID
	self   ids.Worker
	job    *job
	client *client // nil until the worker has connected
	actor  *actor
	repr   string         // of its actor, as its class says
	ran    []wire.TaskRow // what it has run last, since it says that it ends

	outlives bool // something that it runs or has run comes from a detached actor, see outlive.go
}

// endsWithDriver reports whether the worker ends when the driver of its job leaves. A worker
// that was given an actor which outlives the driver goes on, although the worker may still
// decline the actor; mu held.
func (w *worker) endsWithDriver() bool {
	return !w.outlives && (w.actor == nil || !w.actor.outlives)
}

// job is a driver's program as this node sees it. The daemon's lock guards it.
type job struct {
	*workers.Job // its environments, and where the output of its workers goes
	namespace    string
	driver       *client
	visits       bool // its driver is on another node, see guest.go
	guests       int  // its processes on other nodes that are clients of this daemon
	workers      map[sched.WorkerID]*worker
	detached     bool // it has created actors that outlive it
	registering  int  // requests of its processes to register an actor that have arrived and are not answered
	left         bool // its driver is gone, and detached actors of it live, see outlive.go
	ended        bool

	endState   record.JobState // how the driver has left
	endMessage string
	endMs      int64 // when the driver has left
}

// actor is one incarnation of an actor that this node places or runs. The daemon's lock
// guards it. An incarnation has a new row for each worker that it is placed on.
type actor struct {
	rec         record.Actor
	worker      *worker       // nil while it waits for one
	drains      bool          // it was told to end after the calls that have arrived
	endReported bool          // the head knows of its end, or does not want to hear of it
	creating    bool          // its worker has begun its creation
	created     bool          // its constructor has ended
	outlives    bool          // it goes on when the driver of its job leaves; known when it has a worker
	replaced    int           // workers that ended before they had begun its creation
	backoff     time.Duration // for which it is not placed, see restartbackoff.go
	lateRefs    bool          // its constructor got references that were not registered when it had ended
	ticket      uint64        // of the head's order, 0 for none
	asks        bool          // its job is asked for, see visit.go
}

func (a *actor) key() sched.ActorID {
	return sched.ActorID{Actor: a.rec.ID, Incarnation: a.rec.Incarnation}
}

func (a *actor) endID() actorends.ID {
	return actorends.ID{Actor: a.rec.ID, Incarnation: a.rec.Incarnation}
}

func (a *actor) instance() record.Instance {
	return record.Instance{Actor: a.rec.ID, Incarnation: a.rec.Incarnation}
}

// locked calls f with the daemon's lock held. The lock is released also when f panics.
func (d *Daemon) locked(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// now is the machine's time.
func (d *Daemon) now() time.Duration { return time.Since(d.began) }

// socketOf returns the path of the socket at which an owner listens that is on this node.
func (d *Daemon) socketOf(o ids.Owner) string { return wire.SocketPath(d.o.SessionDir, o) }

// headIsSet reports whether SetHead was called.
func (d *Daemon) headIsSet() bool {
	select {
	case <-d.headSet:
		return true
	default:
		return false
	}
}

// awaitHead waits until SetHead was called.
func (d *Daemon) awaitHead(ctx context.Context) error {
	if d.headIsSet() {
		return nil
	}
	select {
	case <-d.headSet:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refuse logs that the daemon refused something, and why.
func (d *Daemon) refuse(what string, err error) { d.complaints.Add(d.log, what, err) }

// Gone implements objects.Holder.
func (c *client) Gone() bool { return c.gone }

// Stop asks the daemon to end: it closes Stopping. Whoever runs the daemon then calls Close.
func (d *Daemon) Stop() { d.end() }

// Stopping is closed when someone asked the daemon to end.
func (d *Daemon) Stopping() <-chan struct{} { return d.ctx.Done() }
