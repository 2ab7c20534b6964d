package leases

import (
	"time"

	"github.com/eagleray/eagleray/core/fault"
	"github.com/eagleray/eagleray/core/internal/pace"
	"github.com/eagleray/eagleray/core/internal/progress"
	"github.com/eagleray/eagleray/core/internal/queue"
	"github.com/eagleray/eagleray/core/internal/templates"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Timer is a call of a function that was put off. It is what time.AfterFunc returns.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}

// Host is what a pool asks of the submitting half.
type Host[T, C any] interface {
	// Push tells the daemon; what is about a lease goes to the daemon that has granted it.
	Push(t wire.Type, body any)
	// PushTo tells the daemon of another node.
	PushTo(node uint32, t wire.Type, body any)
	// RoundTrip returns how long a message to another node and its answer take; 0: that is not known.
	RoundTrip(node uint32) time.Duration
	// Template returns the template of a task, for other nodes.
	Template(t *T) *templates.Template[Class[T, C]]
	// After calls a function when a time has passed, unless the session has ended.
	After(d time.Duration, f func()) Timer
	// Pump sends queued tasks of a class, because a lease has begun to serve it.
	Pump(k *Class[T, C])
	// Waits is told that the queue of a class begins to wait for leases. It returns the number of the look that came last.
	Waits() uint32
	// Large names in a want the largest arguments of a task that lie in a store, at most wire.MaxLarge, the largest first.
	Large(t *T, w *wire.LeaseWant)
	// ReadyMs returns when a task began to wait for its first choice, as Ms counts.
	ReadyMs(t *T) uint32
	// Flush sends what waits in a channel, Close ends it.
	Flush(o *C)
	Close(o *C)
	// Successor reports whether this process goes on in the place of another one, whose grants it has not counted.
	Successor() bool
	// Log writes a line to standard error.
	Log(text string)
	// Descriptor tells of a descriptor that a forked child must close, and before one is closed.
	Descriptor(fd int, open bool)
}

// Pool has the scheduling classes and leases of a process. Init comes before all else.
type Pool[T, C any] struct {
	Classes   map[uint32]*Class[T, C]
	ByClass   map[string]*Class[T, C] // by Template.ClassKey
	Leases    map[uint64]*Lease[T, C]
	IdleLook  time.Time // when idle leases are looked at; zero: not
	IdleTimer Timer
	host      Host[T, C]
	shapes    map[string]*shape[T, C]
	nextClass uint32              // number
	begun     *progress.LeasePage // what the workers of the leases have begun
}

// Class is a scheduling class: the tasks that may run in the same workers, because
// they are of one function and ask for the same resources and environment.
type Class[T, C any] struct {
	ID     uint32        // by which the daemon knows it
	Name   string        // of the function, for people
	Where  string        // the scheduling strategy of its tasks
	Queue  queue.FIFO[T] // tasks that are ready and not sent
	Leases []*Lease[T, C]
	Want   int          // how many more leases the daemon was asked for
	due    int          // for how many of them the daemon may use an alternative; see due.go
	Paces  []pace.Pace  // how long its tasks run, for each choice of resources
	after  int64        // for how many ms only the first choice may be used
	alarm  Timer        // rings when the next task is due; nil: it was never needed
	Bad    *fault.Error // why no node can run its tasks at present
	Since  uint32       // the look that came last before a task of it was sent or its queue began to wait; see package waiting
	shape  *shape[T, C] // the classes that it exchanges leases with; nil: none
	listed bool         // the class is in shape.waiting
	near   uint32       // the node on which its tasks had better run; 0: there is none. See near.go
	asked  time.Time    // of a class with near: since when the daemon is asked for leases

	granted uint64    // how many leases the own daemon has granted, or offered at other nodes
	opening int       // how many leases wait for the socket to their worker; those that other nodes were asked for are among them
	homes   []*home   // the other nodes that were asked for leases; nil: none was. See homes.go
	Changed time.Time // when a lease came last, or gave tasks back

	key       string // in Pool.ByClass
	Templates int    // how many templates belong to it
}

// Lease is a worker that the daemon has lent to this process.
type Lease[T, C any] struct {
	ID      uint64
	Node    uint32       // the number of the node that has granted it; 0: the own node
	Class   *Class[T, C] // whose tasks it gets
	Channel *C           // nil until the socket is open
	Busy    int          // how many tasks were sent and not answered
	Paused  bool         // it gets no task now: it gave tasks back, or its task waits for an object
	Blocked bool         // its task waits for an object
	Recall  bool         // others wait for it: it gets no more tasks
	Wanted  bool         // others wait for it: it goes back when it has nothing to do
	idle    bool         // it has nothing to do, and is kept for a while
	IdleAt  time.Time
	Gone    bool    // it was given back, or its worker has ended
	Choice  int     // which of the class's alternatives it is for, 0: the class's own resources; see due.go
	better  bool    // a better choice may come free
	never   bool    // the first choice can never be had
	used    bool    // it had a task
	slot    int     // its worker's place on the page of begun tasks; see begun.go
	opening bool    // the socket to its worker is being opened
	way     float64 // of a worker of another node, how many µs a task and its answer are on their way together; 0: not known

	// How its worker ended. The pool's user writes these.
	NodeLost bool       // its node is dead or cannot be reached
	Broken   bool       // the daemon has told how its worker ended:
	Detail   string     // in words,
	Code     fault.Code // as what its task fails, "" for a crash,
	Held     uint64     // and how many bytes of memory the worker held, if it was ended for that,
	Begun    uint32     // for a worker of another node, the number of the task that it began last
	Known    bool       // if that is known
	Lost     []*T       // the tasks that it had when its socket broke
}

// shape is what classes have in common that exchange their leases.
type shape[T, C any] struct {
	waiting []*Class[T, C] // the classes with a queue; the one that was not served for longest is first
	idle    int            // how many of their leases have nothing to do
	key     string         // in Pool.shapes
	classes int            // how many classes have it
}

// Init makes the pool empty.
func (p *Pool[T, C]) Init(host Host[T, C]) {
	*p = Pool[T, C]{
		host: host, Classes: map[uint32]*Class[T, C]{}, ByClass: map[string]*Class[T, C]{}, shapes: map[string]*shape[T, C]{}, Leases: map[uint64]*Lease[T, C]{},
	}
}

// End stops the timer of the leases that have nothing to do: the session has ended.
func (p *Pool[T, C]) End() {
	if p.IdleTimer != nil {
		p.IdleTimer.Stop()
	}
}

// Shapes returns how many shapes there are.
func (p *Pool[T, C]) Shapes() int { return len(p.shapes) }

// What every worker must have to do while answers collect.
const (
	busyFor  = 3000.0 // µs of work: more than the time until the next look
	busyEach = 50.0   // µs that a task runs: the answers of shorter ones come many at a time anyway
)

// AllBusy reports whether there are leases, and every one has work until long after the next look at the sockets.
func (p *Pool[T, C]) AllBusy() bool {
	for _, l := range p.Leases {
		us := l.Class.Paces[l.Choice].Micros
		if l.Busy == 0 || l.Paused || us < busyEach || float64(l.Busy)*us-l.way < busyFor {
			return false
		}
	}
	return len(p.Leases) > 0
}
