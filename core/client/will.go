package client

import (
	"github.com/eagleray/eagleray/core/ids"
	"github.com/eagleray/eagleray/core/refs"
	"github.com/eagleray/eagleray/core/wire"
)

// will is all that an owner's heir needs to go on in its place: see move.go
// and inherit.go. Descriptors travel beside it, in the order of its
// connections: the listener first, then serving, links, conns.
type will struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack  struct{} `msgpack:",as_array"`
	Next      uint64   // count of the newest object
	Objects   []willObject
	Templates []Template // all, with their numbers and those of their classes; alternatives are inside
	Tasks     []willTask
	Actors    []willActor
	Held      []willHeld
	Serving   []willServing
	Links     []willLink
	Conns     []willConn
	Recipes   []willRecipe // the oldest first
	Settlings []willSettling
	Receipts  []refs.ReceiptSnapshot
	LookedFor []refs.CallerSnapshot
}

// What of a will the reference table writes and reads.
type (
	willObject   = refs.ObjectSnapshot
	willHeld     = refs.ResultSnapshot
	willSettling = refs.RetainedSnapshot
)

// willTask is a task without answer. Those of Conns were sent.
type willTask struct {
	Template int // in Templates
	First    uint64
	Returns  int32
	Tries    int32
	Fmt      uint8
	Seq      uint32
	Canceled bool
	Args     []byte
	ArgsRef  []byte
	Deps     [][]byte
	Nested   [][]byte
	Place    taskPlace
	Items    uint64   // of a generator: how many have come
	GoOn     bool     // of a generator: it runs to its end although nobody reads it
	Again    bool     // of a generator: it runs again for items that were lost
	Makes    []uint64 // of a generator that runs again: the results that it makes, counted from the first
	Misses   uint8
	Crashes  uint8
	OOMs     uint8  // retries because the machine ran out of memory
	Aside    []byte // the actor whose call it is, in whose queue it is not yet
}

// willRecipe is a finished task that is kept for its results, or one that runs again for them.
type willRecipe struct {
	Again   int      // in Tasks; -1: it does not run
	Task    willTask // finished
	Actor   []byte
	Deps    []willRef
	Nested  []willRef
	Results [][]byte
}

// willRef names an object that may not be held.
type willRef struct {
	ID   []byte
	Addr string
}

// taskPlace is where a task without answer is.
type taskPlace uint8

const (
	taskWaits taskPlace = iota // in a queue, or for arguments
	taskSent                   // on a connection
	taskLost                   // sent to an actor that is gone, whose fate the head is being asked for
)

type willActor struct {
	ID    []byte
	Name  string
	Token []byte // empty: not counted
	Inc   uint64 // the incarnation of its latest connection
	Limit int
	Calls []int // in Tasks, those lost first
	Birth *willBirth

	Broken bool   // see actor.broken
	Conn   uint32 // its number
}

type willBirth struct {
	Task     willTask
	Template Template
	Req      wire.ActorCreate
	Announce bool

	Again bool
}

// willServing is a connection of a borrower, with its questions that wait.
type willServing struct {
	Owner     []byte
	State     wire.State
	Questions []willQuestion
}

type willQuestion struct {
	Object []byte
	ID     uint64
}

// willLink is a connection to an owner whose objects we borrow.
type willLink struct {
	Addr     string
	State    wire.State
	GiveBack [][]byte // not told yet
	Again    bool     // tell it again what we borrow
}

// willConn is a task socket with calls that have no answer.
type willConn struct {
	Addr    string
	LeaseID uint64
	Class   uint32
	Choice  int    // see alternatives.go
	ActorID []byte // instead of a lease
	Seq     uint32
	Unread  []byte
	Unsent  []byte
	Tasks   []int // in Tasks
	Num     uint32
}

func raw(id ids.Object) []byte { return append([]byte(nil), id[:]...) }

func rawOf(list []*refs.Object) [][]byte {
	var out [][]byte
	for _, o := range list {
		out = append(out, raw(o.ID))
	}
	return out
}
