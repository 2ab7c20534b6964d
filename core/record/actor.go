package record

import (
	"fmt"

	"github.com/eagleray/eagleray/core/ids"
)

// ActorState is where an actor is in its life.
type ActorState string

// PENDING → ALIVE ⇄ RESTARTING, and from each of them DEAD, which is final.
const (
	ActorPending    ActorState = "PENDING"    // registered; its first worker is being found and started
	ActorAlive      ActorState = "ALIVE"      // its constructor returned; Address takes calls
	ActorRestarting ActorState = "RESTARTING" // its worker is gone; the next incarnation is being started
	ActorDead       ActorState = "DEAD"       // for good; Cause says why
)

// ActorUnschedulable is the state of a Resolution and of no record: the actor waits, and no node can ever take it.
const ActorUnschedulable ActorState = "UNSCHEDULABLE"

// FirstIncarnation is the incarnation of an actor that has not restarted.
// Callers say "after incarnation 0" when any will do.
const FirstIncarnation = 1

// Actor is everything the cluster knows about one actor.
type Actor struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	// Given when it is registered.
	ID              ids.Actor     `msgpack:"id"`
	Job             ids.Job       `msgpack:"job"`
	Name            string        `msgpack:"name"` // "" for an actor without a name
	Namespace       string        `msgpack:"ns"`
	ClassName       string        `msgpack:"class"`
	Detached        bool          `msgpack:"detached"` // outlives its owner, its job and its handles
	Owner           ids.Owner     `msgpack:"owner"`
	OwnerAddr       string        `msgpack:"owner_addr"`
	Resources       Resources     `msgpack:"res"`     // needed to be placed
	RunResources    Resources     `msgpack:"run_res"` // held while it lives
	Fallback        []Alternative `msgpack:"fallback"`
	AfterMs         int64         `msgpack:"fallback_after"` // how long Resources are waited for before Fallback is looked at
	Strategy        string        `msgpack:"strategy"`       // as package strategy reads it; "" for the default
	EnvKey          string        `msgpack:"env"`
	MaxRestarts     int           `msgpack:"max_restarts"` // -1: without limit
	MaxConcurrency  int           `msgpack:"max_conc"`
	MaxPendingCalls int           `msgpack:"max_pending"`
	Spec            []byte        `msgpack:"spec"`    // creation frame, opaque; dropped when the actor is dead
	Code            []ids.Object  `msgpack:"code"`    // large classes in Spec and its alternatives, of which the state keeps copies; dropped when it cannot start again
	Meta            []byte        `msgpack:"meta"`    // what a handle is made from, opaque; dropped when the actor is dead
	Home            []byte        `msgpack:"home"`    // what other nodes need to know of its job, opaque; of a detached actor, whose creator's node may be gone when it restarts
	Lasting         bool          `msgpack:"lasting"` // its creator works for a detached actor, so it goes on when the driver of its job leaves
	Waits           bool          `msgpack:"waits"`   // for a node that can take it, however long that takes
	Exclusive       bool          `msgpack:"excl"`    // at most one incarnation at a time begins calls
	AsCluster       bool          `msgpack:"excl_as"` // its creator has not said whether it is exclusive: a setting of the cluster does
	CreatedMs       int64         `msgpack:"created"`

	// Kept by the state. Ordinal is the log index of the registration; lists
	// are in its order. Node, Worker, Address and Pid are those of the
	// current incarnation, zero until it is placed and alive.
	Ordinal     uint64     `msgpack:"ord"`
	State       ActorState `msgpack:"state"`
	Incarnation uint64     `msgpack:"inc"`
	NumRestarts int        `msgpack:"restarts"`
	Preempted   int        `msgpack:"preempted"` // how many of them followed the preemption of its node, and do not count towards MaxRestarts
	Released    bool       `msgpack:"released"`  // the last handle went: no restart any more
	Node        ids.Node   `msgpack:"node"`
	Worker      ids.Worker `msgpack:"worker"`
	Address     string     `msgpack:"addr"`
	Pid         int        `msgpack:"pid"`
	LateRefs    bool       `msgpack:"late"`    // its constructor got references that were not registered when it had ended
	StartedMs   int64      `msgpack:"started"` // of this incarnation
	Previous    Instance   `msgpack:"prev"`    // the incarnation that ended last
	Cause       Cause      `msgpack:"cause"`   // why Previous ended; why it is DEAD
	EndedMs     int64      `msgpack:"ended"`
	// Of an exclusive actor that is not placed yet: an earlier incarnation, which may still run.
	Fence Instance `msgpack:"fence"`

	// Blobs is set when Spec, Meta or Home are large values, which the heads keep as files.
	Blobs *ActorBlobs `msgpack:"blobs"`
}

// Alternative is what does instead of an actor's own resources, in every
// incarnation anew. Another class's code is in the actor's Spec.
type Alternative struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Resources      Resources `msgpack:"res"`
	RunResources   Resources `msgpack:"run_res"`
	ClassName      string    `msgpack:"class"` // "": the actor's own
	MaxConcurrency int       `msgpack:"max_conc"`
}

// Fenced reports whether the actor may not be placed before it is known that an earlier incarnation begins no call any more.
func (a *Actor) Fenced() bool {
	return a.Exclusive && a.Node == (ids.Node{}) && a.Fence.Node != (ids.Node{})
}

// Live reports whether the actor is not dead.
func (a *Actor) Live() bool { return a.State != ActorDead }

// String names the actor in messages: its class, its name if it has one, its id.
func (a *Actor) String() string {
	s := "actor "
	if a.ClassName != "" {
		s += a.ClassName + " "
	}
	if a.Name != "" {
		s += fmt.Sprintf("%q ", a.Name)
	}
	return s + a.ID.String()
}

// Instance is one incarnation of an actor where it runs.
func (a *Actor) Instance() Instance {
	return Instance{Actor: a.ID, Incarnation: a.Incarnation, Node: a.Node, Worker: a.Worker, Address: a.Address, Pid: a.Pid, LateRefs: a.LateRefs}
}

// Brief returns the record without the opaque bytes, for events.
func (a *Actor) Brief() *Actor {
	b := *a
	b.Spec, b.Meta, b.Home, b.Blobs = nil, nil, nil, nil
	return &b
}

// MayRestart reports whether a worker that dies now is replaced.
func (a *Actor) MayRestart() bool {
	return a.Live() && !a.Released && (a.MaxRestarts < 0 || a.Counted() < a.MaxRestarts)
}

// Counted is how many restarts count towards MaxRestarts.
func (a *Actor) Counted() int { return a.NumRestarts - a.Preempted }

// MayMove reports whether an actor whose node was preempted is started again: that costs it no restart.
func (a *Actor) MayMove() bool { return a.Live() && !a.Released && a.MaxRestarts != 0 }

// Instance names one incarnation of an actor and its worker. While it is being
// placed only Actor, Incarnation and perhaps Node are set.
type Instance struct {
	//lint:ignore U1000 msgpack reads the tag
	_msgpack struct{} `msgpack:",omitempty"`

	Actor       ids.Actor  `msgpack:"actor"`
	Incarnation uint64     `msgpack:"inc"`
	Node        ids.Node   `msgpack:"node"`
	Worker      ids.Worker `msgpack:"worker"`
	Address     string     `msgpack:"addr"`
	Pid         int        `msgpack:"pid"`
	LateRefs    bool       `msgpack:"late"` // as Actor.LateRefs
}

// Named is one row of the list of names.
type Named struct {
	Namespace string
	Name      string
	Actor     ids.Actor
}
