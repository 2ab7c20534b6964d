package localstore

import (
	"time"

	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/internal/refs"
	"github.com/eagleray/eagleray/core/internal/store"
	"github.com/eagleray/eagleray/core/internal/wire"
)

// Daemon is the node's object store, as this process asks it. No method waits for
// an answer. An answer is an event, which the session gives under its mutex unless
// the method says otherwise. It never comes before the method has returned.
type Daemon interface {
	// Pin asks for the place of an object, which the daemon keeps where it is from then on.
	// The answer is Store.Placed.
	Pin(p *Pinning)
	// OpenFile maps the file that a spilled object lies in. The answer is Store.Opened.
	OpenFile(p *Pinning, at wire.ObjPlace)
	// Pins asks for the places of those objects of a list that lie in the arena, and pins
	// them. The answer is Store.PlacedBatch.
	Pins(b *Batch)
	// Unpin gives one pin back.
	Unpin(id ids.Object)
	// Create asks for room for a new object. The answer is Room.Placed, without the mutex.
	Create(r *Room)
	// Seal says that an object has been written. Pinned: it stays pinned for this process.
	// When Seal returns, the message has left the process, which may end then.
	Seal(id ids.Object, pinned bool) error
	// Reuse says that a new object takes the place of one which this process alone has
	// pinned. The pin goes with the old object.
	Reuse(old, id ids.Object, size uint64)
	// Free frees objects that this process owns or was writing.
	Free(list [][]byte)
	// Check asks which of some objects the daemon lacks. The answer is Check.Answered, without the mutex.
	Check(c *Check)
}

// Clock is the time for what waits to be used again.
type Clock interface {
	Now() time.Time
	// After runs f once after d, under the session's mutex, while the session is open.
	After(d time.Duration, f func()) Timer
}

// Timer is what After has started. Reset starts it again, also after it has run.
type Timer interface {
	Reset(d time.Duration) bool
}

// Times say how long something waits here to be used again.
type Times struct {
	Idle  time.Duration // a view that no task looks at
	Spare time.Duration // the range of an object that is gone
}

// Options make a Store.
type Options struct {
	Daemon Daemon
	Clock  Clock
	// KeepsIdle is set in workers: what a task has looked at stays pinned for the next one.
	KeepsIdle bool
	Times     Times // zero: those that are usual
}

// Store is what this process has of its node's object store. The zero Store has
// nothing and asks nobody.
type Store struct {
	daemon    Daemon
	clock     Clock
	keepsIdle bool
	times     Times
	self      ids.Owner
	table     *refs.Table
	ended     error // why the session has ended

	mapping  arena
	views    map[uint64]*View     // by number
	mapped   map[ids.Object]*View // by object
	pinnings map[ids.Object]*Pinning
	expected []ids.Object // see prefetch.go
	idle     idleViews
	spare    spareRange
}

// View is a stored object that this process has pinned: once, for all its
// references and memory views together.
type View struct {
	n     uint64
	id    ids.Object
	off   uint64
	size  uint64
	file  *store.FileView // where the object is mapped; nil: off and size are the arena's
	holds int             // by the table, by calls that run, and by the program
	inUse int             // those by the program

	freed        bool      // the object's owner has let go of it: nobody keeps the view for later
	since        time.Time // nobody has held it, see idle.go
	older, newer *View
}

// Pinning is a question to the daemon for the place of a stored object. The answer
// may take its time: the object is being written, or comes back from disk.
type Pinning struct {
	id         ids.Object
	waiting    int  // those who wait for the answer; each gets a hold
	argument   bool // it was asked for as the argument of a task
	prefetched bool // the table keeps the view when nobody waits, see prefetch.go
	freed      bool // the daemon said meanwhile that the object's owner has let go of it
	done       chan struct{}
	view       *View // valid, as err is, once done is closed
	err        error
}

// Batch is a question to the daemon for the places of many objects.
type Batch struct {
	pinnings []*Pinning // nil: it is answered
	done     chan struct{}
}

// Check is a question to the daemon which of some stored objects it lacks.
type Check struct {
	list  []*refs.Object
	done  chan struct{}
	lacks [][]byte
	err   error
}

// Room is a request for room in the store. A full store answers when there is some.
type Room struct {
	id   ids.Object
	size uint64
	anew bool
	done chan struct{}
	to   chan<- *Room // gets the answered request, see Promotion; nil: done is closed instead
	i    int          // of the value in its Promotion
	at   wire.ObjPlace
	err  error
}

// arena is the node's shared memory, as this process has it. A successor maps it
// only when it has to write there: a process may have thousands of successors, and
// they read nothing.
type arena struct {
	*store.Mapping        // nil: it is not mapped
	fd             int    // the memory's descriptor
	open           bool   // the descriptor is open, because nobody has mapped the arena yet
	size           uint64 // in bytes
}

// idleViews are the views that nobody holds, the one looked at last at the end.
type idleViews struct {
	first, last *View
	n           int
	written     *View // what put wrote last, whether or not somebody holds it
	timer       Timer // runs while there are any
}

// spareRange is the range of an object that is gone, for the next put.
type spareRange struct {
	view  *View
	timer Timer
}

// The usual Times.
const (
	idleFor  = time.Second
	spareFor = 20 * time.Millisecond
)

// Init makes a zero Store usable.
func (s *Store) Init(o Options) {
	s.daemon, s.clock, s.keepsIdle = o.Daemon, o.Clock, o.KeepsIdle
	s.SetTimes(o.Times)
	s.views, s.mapped, s.pinnings = map[uint64]*View{}, map[ids.Object]*View{}, map[ids.Object]*Pinning{}
}

// SetTimes changes how long views and ranges wait from now on.
func (s *Store) SetTimes(t Times) {
	if t.Idle == 0 {
		t.Idle = idleFor
	}
	if t.Spare == 0 {
		t.Spare = spareFor
	}
	s.times = t
}

// Join says which process this is, and which table has its objects. A session may
// join again: a driver when its job begins, a successor when it takes a process over.
func (s *Store) Join(self ids.Owner, table *refs.Table) { s.self, s.table = self, table }

// End says that the session has ended, and why. From now on nothing is kept for later.
func (s *Store) End(why error) { s.ended = why }

// Counts are numbers of what a Store has.
type Counts struct {
	Views    int
	Mapped   int // objects that have a view
	Idle     int // views that nobody holds
	InUse    int // uses of views by the program
	Pinnings int // places that the daemon is being asked for
}

// Count counts what there is.
func (s *Store) Count() Counts {
	n := Counts{Views: len(s.views), Mapped: len(s.mapped), Idle: s.idle.n, Pinnings: len(s.pinnings)}
	for _, v := range s.views {
		n.InUse += v.inUse
	}
	return n
}

// MustFetch reports whether the value of an object lies in the store, and the table holds no view of it.
func MustFetch(o *refs.Object) bool { return o.State() == refs.Stored && o.Copy() == nil }

// raw is the id of an object as a message has it.
func raw(id ids.Object) []byte { return append([]byte(nil), id[:]...) }
